"""DILOS-E15 to E17: classes at steady rates, with and without synergy."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from headgate.experiments.load_management import networks
from headgate.experiments.load_management.classes import NAMES, NOTE, ROOM, Case, Seen
from headgate.experiments.load_management.single import named, required, seeds
from headgate.experiments.load_management.tables import (
    MODES,
    Table,
    case,
    falls,
    length,
    length_note,
    loss_rows,
    losses_figure,
    over_time,
    runs_of,
    totals,
)
from headgate.experiments.report import (
    Band,
    Experiment,
    Figure,
    Line,
    Outcome,
    Row,
    Scale,
    Task,
    banded,
    holds,
    reported,
)
from headgate.sim.metrics import interval

TARGET = 1e3 * networks.THREE[2].delay_target
STEADY: Table = {
    "none": ((5.25, 7.22, 117132.74), (0.0, 0.0, 0.0)),
    "common": ((4.01, 4.74, 513.71), (42.19, 42.15, 42.24)),
    "separate": ((4.91, 7.21, 492.16), (0.0, 0.0, 85.37)),
    "dilos": ((8.90, 34.18, 487.04), (0.0, 0.0, 24.43)),
    "dilos+sharing": ((9.05, 36.54, 482.53), (0.0, 0.0, 14.70)),
}


def e16_length(scale: Scale) -> float:
    """Seconds of E15 to E17."""
    return length(scale, 100.0, 20.0)


def e16_tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each mode, and one with the manager of this project."""
    end = e16_length(scale)
    return runs_of([*(case(mode, "SD_c", end) for mode in MODES), _ours(end)], seeds(scale, 4))


def _ours(end: float) -> Case:
    return replace(case("dilos", "SD_c", end), manager="backlog")


def e16(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Table 8: what joint scheduling and shedding gains."""
    numbers, end = seeds(scale, 4), e16_length(scale)
    runs: dict[str, list[Seen]] = {
        mode: [results[case(mode, "SD_c", end), seed] for seed in numbers] for mode in MODES
    }
    ours: list[Seen] = [results[_ours(end), seed] for seed in numbers]
    rows: list[Row] = []
    for mode in ("separate", "dilos", "dilos+sharing"):
        for cls in NAMES[:2]:
            lost = max(each.loss[cls] for each in runs[mode])
            rows.append(banded(f"class {cls} loses nothing, {mode}", "0 %", lost, Band(0.0, 0.0, " %")))
    much = sum(s.loss["3"] > 2 * d.loss["3"] for s, d in zip(runs["separate"], runs["dilos"], strict=True))
    rows.append(
        holds("class 3 loses more than twice as much under separate as under dilos", "yes", much, len(numbers))
    )
    rows.append(falls(runs, numbers))
    apart = max(max(each.loss.values()) - min(each.loss.values()) for each in runs["common"])
    rows.append(banded("common loses the same of all classes", "0.09 points", apart, Band(0.0, 0.5, " points")))
    for mode in MODES:
        good = sum(each.response["1"] < each.response["2"] < each.response["3"] for each in runs[mode])
        rows.append(holds(f"response times grow from class 1 to 3, {mode}", "yes", good, len(numbers)))
        if mode != "none":
            found = interval([each.response["3"] for each in runs[mode]])
            band = Band(0.0, 1.05 * TARGET, " ms")
            paper = f"{STEADY[mode][0][2]:g} ms"
            rows.append(banded(f"response time of class 3, {mode}", paper, found.mean, band, f"{found} ms"))
    rows += loss_rows({mode: values for mode, values in STEADY.items() if mode != "none"}, runs)
    rows += totals({"common": 42.19, "separate": 28.46, "dilos": 8.14, "dilos+sharing": 4.90}, runs)
    ends = [_last(each) for each in runs["dilos"]]
    rows.append(reported("the last time at which class 2 drops anything, dilos", "never", f"{max(ends):.3g} s"))
    none = interval([each.response["3"] for each in runs["none"]])
    rows.append(reported("response time of class 3, none: it grows with the run", "117,133 ms", f"{none} ms"))
    rows.append(
        reported(
            "dilos with backlog: losses by class, response time of class 3",
            "–",
            " / ".join(f"{fmean(each.loss[cls] for each in ours):.3g}" for cls in NAMES)
            + f" %, {fmean(each.response['3'] for each in ours):.4g} ms",
        )
    )
    return Outcome(
        E16.id,
        E16.title,
        "SD_c: 950 tuples/s on each of 39 streams",
        named(numbers),
        tuple(rows),
        (losses_figure("QN-A, SD_c", runs),),
        (NOTE, length_note(scale, end)),
    )


def _last(seen: Seen) -> float:
    """When class 2 stopped to drop."""
    return float(seen.times[seen.drops["2"] > 0].max(initial=0.0))


def e17(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """What the managers of E16 learn about their capacity."""
    numbers, end = seeds(scale, 4), e16_length(scale)

    def learnt(mode: str, cls: str) -> list[float]:
        runs = (results[case(mode, "SD_c", end), seed] for seed in numbers)
        return [float(each.headrooms[cls][each.times > end / 2].mean()) for each in runs]

    alone = {cls: learnt("separate", cls) for cls in NAMES}
    synergy = {cls: learnt("dilos", cls) for cls in NAMES}
    n = len(numbers)
    more = sum(b > 1.5 * a for a, b in zip(alone["3"], synergy["3"], strict=True))
    rows = [
        holds(
            "separate: the headroom of class 1 stays at 0.6", "yes", sum(abs(h - 0.6) < 1e-9 for h in alone["1"]), n
        ),
        holds("separate: that of class 2 is above 0.3", "yes", sum(h > 0.3 for h in alone["2"]), n),
        holds("separate: that of class 3 is above 0.1", "yes", sum(h > 0.1 for h in alone["3"]), n),
        holds("dilos: that of class 3 is more than half as high again", "clearly higher", more, n),
        *(
            holds(
                f"dilos: that of class {cls} is lower",
                "yes",
                sum(b < a for a, b in zip(alone[cls], synergy[cls], strict=True)),
                n,
            )
            for cls in NAMES[:2]
        ),
        *(
            reported(f"headrooms of the second half by class, {mode}", "–", _three(found))
            for mode, found in (("separate", alone), ("dilos", synergy))
        ),
    ]
    figures = tuple(
        over_time(mode, "headroom", results[case(mode, "SD_c", end), numbers[0]].headrooms)
        for mode in ("separate", "dilos")
    )
    return Outcome(E17.id, E17.title, "SD_c", named(numbers), tuple(rows), figures, (NOTE, length_note(scale, end)))


def _three(found: Mapping[str, Sequence[float]]) -> str:
    return " / ".join(f"{fmean(found[cls]):.3f}" for cls in NAMES)


def congested(mode: str, scale: Scale, *, sharing: bool = True) -> Case:
    """QN-A with bounded queues behind the shared selects."""
    end = length(scale, 40.0, 20.0)
    return replace(case(mode, "SD_c", end), sharing=sharing, bounded=True)


def e15_tasks(scale: Scale) -> Mapping[Any, Task]:
    """Without load management and with it, and without sharing."""
    cases = [congested("none", scale), congested("none", scale, sharing=False), congested("dilos", scale)]
    return runs_of(cases, (1,))


def e15(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """A lower class that falls behind holds up what a higher one shares with it."""
    shared: Seen = results[congested("none", scale), 1]
    apart: Seen = results[congested("none", scale, sharing=False), 1]
    managed: Seen = results[congested("dilos", scale), 1]
    rows = [
        required(
            "queries of class 1 that share are held up",
            "a dramatic rise",
            f"{shared.sharing:.3g} ms; {apart.sharing:.3g} ms unshared",
            met=shared.sharing > 10 * apart.sharing,
        ),
        required(
            "class 2 is not touched",
            "yes",
            f"{shared.response['2']:.3g} ms; {apart.response['2']:.3g} ms unshared",
            met=shared.response["2"] < 2 * apart.response["2"],
        ),
        required(
            "with DILoS class 1 is not held up",
            "yes",
            f"{managed.sharing:.3g} ms; {managed.alone:.3g} ms for queries that share nothing",
            met=managed.sharing < 2 * managed.alone and managed.loss["1"] == 0,
        ),
        reported(
            "queries of class 1 that share nothing", "–", f"{shared.alone:.3g} ms; {apart.alone:.3g} ms unshared"
        ),
    ]
    found = {"none, sharing": shared, "none": apart, "dilos, sharing": managed}
    figure = Figure(
        "class 1 by what its queries share",
        "",
        "response time (ms)",
        (
            Line("sharing queries", (), [each.sharing for each in found.values()]),
            Line("others", (), [each.alone for each in found.values()]),
        ),
        tuple(found),
    )
    note = f"The queue behind each shared select holds {ROOM} tuples, which is what comes to it in 1.5·D of class 3."
    return Outcome(
        E15.id,
        E15.title,
        "SD_c",
        "1",
        tuple(rows),
        (figure,),
        (NOTE, note, length_note(scale, congested("none", scale).end)),
    )


E15 = Experiment("DILOS-E15", "Congestion behind shared operators", "Figure 5", e15_tasks, e15)
E16 = Experiment("DILOS-E16", "What DILoS gains", "Table 8", e16_tasks, e16)
E17 = Experiment("DILOS-E17", "The headrooms that managers learn", "Figures 26 and 27", e16_tasks, e17)
