"""DILOS-E13: the load grows until dropping alone takes all the time."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from headgate.experiments.load_management import inputs
from headgate.experiments.load_management.single import (
    NOTE_FLAT,
    TUNED,
    Case,
    D,
    Seen,
    line,
    named,
    over,
    seeds,
)
from headgate.experiments.load_management.single import tasks as runs_of
from headgate.experiments.report import Experiment, Figure, Outcome, Scale, Task, claim, holds, reported

MANAGERS = ("aurora", "ctrl", "aloma", "backlog")
HIGHEST = inputs.STEPS[-1]


def end(scale: Scale) -> float:
    """Seconds of input: ten, and levels of 40 s, or of 20 s in a quick run."""
    return 210.0 if scale.quick else 410.0


def steps(manager: str, scale: Scale) -> Case:
    """A manager under S_step."""
    options = {"ctrl": (("headroom", TUNED),), "aurora": (("headroom", 0.94),)}.get(manager, ())
    return Case("flat", "S_step", manager, options, end=end(scale))


def tasks(scale: Scale) -> Mapping[Any, Task]:
    """A run for each manager."""
    return runs_of([steps(name, scale) for name in MANAGERS], seeds(scale, 3))


def failure(seen: Seen, end: float) -> float:
    """The first rate at which tuples of the second half of a level take more than twice the target, or stay."""
    for (start, rate), (stop, _) in pairwise([*inputs.steps(end), (end, 0.0)]):
        found = seen.by_input[int((start + stop) / 2) : int(stop)]
        # Whoever has not left in the twenty seconds behind the input is late too.
        if np.mean(np.nan_to_num(found, nan=10 * D)) > 2 * D:
            return rate
    return 2 * HIGHEST


def e13(scale: Scale, results: Mapping[Any, Any]) -> Outcome:
    """Who fails at which rate."""
    numbers = seeds(scale, 3)
    runs = {name: over(results, steps(name, scale), numbers) for name in MANAGERS}
    at = {name: [failure(each, end(scale)) for each in found] for name, found in runs.items()}
    last = sum(at["aloma"][k] > max(at["aurora"][k], at["ctrl"][k]) for k in range(len(numbers)))
    all_fail = sum(at[name][k] <= HIGHEST for name in MANAGERS for k in range(len(numbers)))
    rows = [
        holds("aloma fails at a higher rate than aurora and ctrl", "yes", last, len(numbers)),
        holds("all fail in the end", "yes", all_fail, len(numbers) * len(MANAGERS)),
        claim(
            "nearly all is shed then",
            "about 100 %",
            ", ".join(f"{name} {max(each.drops.max() for each in found):.0%}" for name, found in runs.items()),
            confirmed=all(each.drops.max() >= 0.9 for name in MANAGERS for each in runs[name]),
        ),
        *(reported(f"rate at which {name} fails", "–", _rates(found)) for name, found in at.items()),
    ]
    figure = Figure(
        "ever higher levels",
        "arrival (s)",
        "response time (s)",
        tuple(line(name, found[0].by_input, 1.0) for name, found in runs.items()),
    )
    note = (
        "A manager has failed where tuples of the second half of a level take longer than 2·D. Levels are not "
        "printed; ours go from 350 to 9,000 tuples/s, for 40 s each, or 20 s in a quick run. Aurora has a headroom "
        "of 0.94, the best of Table 1."
    )
    return Outcome(E13.id, E13.title, "S_step", named(numbers), tuple(rows), (figure,), (NOTE_FLAT, note))


def _rates(found: list[float]) -> str:
    return ", ".join(f"{rate:,.0f}" if rate <= HIGHEST else "none" for rate in sorted(set(found))) + " tuples/s"


E13 = Experiment("DILOS-E13", "A load that no shedding can cope with", "Figure 20", tasks, e13)
