"""CLS-E29: rates, selectivities and priorities change at once, and queries are shared."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from headgate.experiments.class_scheduling.cases import WIDTH, Case, Seen, averaged, ms, near, seeds, tasks
from headgate.experiments.class_scheduling.figures import mean_over_time
from headgate.experiments.class_scheduling.workloads import W5L
from headgate.experiments.report import Experiment, Outcome, Row, Scale, claim, reported
from headgate.model.operator import Kind
from headgate.policy.classes.measures import prir
from headgate.sim.arrivals import Steps

SECONDS = 10.0
CHANGES = ((4.5, (("2", 50.0), ("4", 20.0))), (7.5, (("1", 50.0), ("2", 50.0), ("4", 15.0))))
PRIORITIES = ((0.0, (80, 30, 30, 10, 10)), (4.5, (80, 50, 30, 20, 10)), (7.5, (50, 50, 30, 15, 10)))
"""The priorities of the classes from a time on."""
FIRST = ((0.0, 1200.0), (1.0, 800.0), (3.0, 1000.0), (5.0, 500.0), (8.0, 900.0))
LAST = ((0.0, 1200.0), (2.0, 2000.0), (3.0, 1200.0), (6.0, 2000.0), (7.0, 1200.0))
"""Tuples per second of the first and of the last class from a time on."""
SELECTIVITY = {
    "2": ((0.0, 1.0), (2.0, 0.5), (4.0, 0.8), (6.0, 0.3), (8.0, 1.0)),
    "3": ((0.0, 1.0), (3.0, 0.6), (5.0, 0.2), (8.0, 0.9)),
}
ALL = (("selectivity", "sa"), ("up", True))
SCHEDULERS: Mapping[str, tuple[str, tuple[tuple[str, Any], ...]]] = {
    **{name: (name, ()) for name in ("pct", "pct-s", "mrr", "morr", "ml", "mol", "mprr", "mbd")},
    "mbd_dvp_sa_up": ("mbd", (("inversion", "dvp"), *ALL)),
    "mbd_dsp_sa_up": ("mbd", (("inversion", "dsp"), *ALL)),
}
ADAPTIVE = ("mbd_dvp_sa_up", "mbd_dsp_sa_up")
QUICK = ("mrr", "mbd", *ADAPTIVE)


def _pace(scale: Scale) -> float:
    return 0.2 if scale.quick else 1.0


def _names(scale: Scale) -> tuple[str, ...]:
    return QUICK if scale.quick else tuple(SCHEDULERS)


def _paced(levels: tuple[tuple[float, Any], ...], pace: float) -> tuple[tuple[float, Any], ...]:
    return tuple((pace * time, value) for time, value in levels)


def _cases(scale: Scale, name: str) -> list[Case]:
    pace = _pace(scale)
    scheduler, options = SCHEDULERS[name]
    return [
        Case(
            W5L,
            scheduler,
            pace * SECONDS,
            seed,
            options,
            arrivals=(("1", Steps(_paced(FIRST, pace))), ("5", Steps(_paced(LAST, pace)))),
            curves=tuple((cls, _paced(levels, pace)) for cls, levels in SELECTIVITY.items()),
            varies=(Kind.SELECT, Kind.JOIN),
            changes=_paced(CHANGES, pace),
            warm=0.0,
        )
        for seed in (1,)
    ]


def inversions(seen: Seen, pace: float = 1.0) -> list[float]:
    """The inversion ratio of each span of 0.1 s, by the priorities that hold in it."""
    found = []
    for i, RT in enumerate(seen.over_time[:, :-1].T.tolist()):
        P = next(P for time, P in reversed(PRIORITIES) if pace * time <= WIDTH * (i + 0.5))
        found.append(sum(prir(P, RT)))
    return found


def e29(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """All schedulers on the same ten seconds."""
    pace = _pace(scale)
    found = {name: averaged([results[each] for each in _cases(scale, name)]) for name in _names(scale)}
    ratio = {name: inversions(seen, pace) for name, seen in found.items()}
    total = {name: float(np.nansum(each)) for name, each in ratio.items()}
    calm = sorted(total, key=total.__getitem__)
    rows = [] if scale.quick else _others(found)
    mbd = found["mbd"].between(4.6 * pace, 7.5 * pace)
    rows.append(
        claim("mbd, classes 4 and 5 from 4.5 to 7.5 s, ms", "4 above 5", ms(mbd[3:]), confirmed=mbd[3] > mbd[4])
    )
    shown = ", ".join(f"{name} {total[name]:.3g}" for name in calm)
    rows.append(
        claim(
            "lowest inversion, over all spans",
            " and ".join(ADAPTIVE),
            shown,
            confirmed=set(calm[:2]) == set(ADAPTIVE),
        )
    )
    for name in ADAPTIVE:
        after = found[name].between(4.8 * pace, 7.5 * pace)
        rows.append(
            claim(
                f"{name}, classes 4 and 5 after 4.5 s, ms", "4 below 5", ms(after[3:]), confirmed=after[3] < after[4]
            )
        )
    times = WIDTH * np.arange(len(ratio["mbd_dsp_sa_up"])) / pace
    apart = (times < 7.15) | (times >= 7.55)
    spans = int((np.nan_to_num(ratio["mbd_dsp_sa_up"])[apart] > 0).sum())
    rows.append(
        claim(
            "mbd_dsp_sa_up, spans with inversion but for 7.2 to 7.6 s",
            "0",
            f"{spans} of {int(apart.sum())}",
            confirmed=spans == 0,
        )
    )
    rows += [reported(f"classes under {name}, ms", "–", ms(seen.mean)) for name, seen in found.items()]
    shown_over_time = [name for name in ("mbd", *ADAPTIVE) if name in found]
    figures = tuple(mean_over_time(name, found[name]) for name in shown_over_time)
    cases = _cases(scale, "mbd")
    notes = [
        "Rates and selectivities are plots in the publication; the steps are ours. One seed: it is about one course."
    ]
    if scale.quick:
        notes.append("Quick: everything happens five times as fast, under four schedulers.")
    trace = f"Poisson, 1200 tuples per second and stream, classes 1 and 5 by steps; {cases[0].seconds:g} s"
    return Outcome(E29.id, E29.title, trace, seeds(cases), tuple(rows), figures, tuple(notes))


def _others(found: Mapping[str, Seen]) -> list[Row]:
    """What is claimed of the baselines."""
    ends = {name: seen.over_time[2, -6:-1] for name, seen in found.items()}
    pct, split = found["pct"].over_time[2], found["pct-s"].over_time[2]
    rows = [
        claim(
            "pct, class 3 at the end",
            "> 2 s and growing",
            f"{np.nanmean(ends['pct']):.3g} s",
            confirmed=bool(np.nanmax(pct) > 2 and np.nanmean(pct[-20:]) > np.nanmean(pct[:20])),
        ),
        claim("pct-s, class 3, most", "2 s", f"{np.nanmax(split):.3g} s", confirmed=near(2, float(np.nanmax(split)))),
    ]
    for name in ("mrr", "morr", "mol"):
        RT = found[name].mean
        order = sorted(range(5), key=RT.__getitem__)
        confirmed = set(order[:2]) == {3, 4} and order[-1] == 2
        rows.append(claim(f"{name}, classes, ms", "4, 5 lowest, 3 highest", ms(RT), confirmed=confirmed))
    mrr, morr, mprr = (found[name] for name in ("mrr", "morr", "mprr"))
    rows.append(
        claim("morr against mrr, weighted", "above", ms([morr.wavg, mrr.wavg]), confirmed=morr.wavg > mrr.wavg)
    )
    both = mprr.mean[3:]
    rows.append(
        claim("mprr, classes 4 and 5", "120 ms", f"{ms(both)} ms", confirmed=all(near(0.12, rt) for rt in both))
    )
    late = mprr.between(4.6, 7.5)
    shown = f"{sum(prir(PRIORITIES[1][1], late)):.3g}"
    rows.append(claim("mprr, inversion ratio after 4.5 s", "> 0", shown, confirmed=float(shown) > 0))
    return rows


E29 = Experiment(
    "CLS-E29",
    "Everything changes at once",
    "Figures 120–135",
    lambda scale: tasks([each for name in _names(scale) for each in _cases(scale, name)]),
    e29,
)
