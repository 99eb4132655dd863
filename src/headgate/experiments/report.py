"""An experiment's outcome: rows of 'paper says / we measure', each with its band and verdict, and a figure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from headgate.sim.metrics import Interval, interval

Verdict = Literal["in band", "out of band", "miss", "reported"]


@dataclass(frozen=True, slots=True)
class Band:
    """What a measured value has to lie in, ends included, fixed before the run."""

    low: float
    high: float
    unit: str = ""

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high

    def __str__(self) -> str:
        """The band as a person reads it."""
        if self.low == self.high:
            return f"{self.low:g}{self.unit}"
        if self.high == float("inf"):
            return f"≥ {self.low:g}{self.unit}"
        if self.low == -float("inf"):
            return f"≤ {self.high:g}{self.unit}"
        return f"{self.low:g} … {self.high:g}{self.unit}"


@dataclass(frozen=True, slots=True)
class Row:
    """One claim. `ok` is the verdict against the band.

    A row without a band either reports a number for information (`ok` is None) or a published claim that we could not
    confirm (a miss). Only bands are checks of this code; a miss is a statement about the publication.
    """

    what: str
    paper: str
    measured: str
    band: str | None
    verdict: Verdict

    @property
    def ok(self) -> bool | None:
        """True in the band, False out of it or missed, None where the row only reports."""
        return {"in band": True, "out of band": False, "miss": False, "reported": None}[self.verdict]


def banded(what: str, paper: str, value: float, band: Band, shown: str | None = None) -> Row:
    """A row whose value is checked against a band."""
    verdict: Verdict = "in band" if value in band else "out of band"
    return Row(what, paper, shown or f"{value:.4g}{band.unit}", str(band), verdict)


def holds(what: str, paper: str, good: int, of: int) -> Row:
    """A row for an order that has to hold in every case."""
    verdict: Verdict = "in band" if good == of and of > 0 else "out of band"
    return Row(what, paper, f"{good} of {of}", "every case", verdict)


def reported(what: str, paper: str, shown: str) -> Row:
    """A number without a band."""
    return Row(what, paper, shown, None, "reported")


def claim(what: str, paper: str, shown: str, *, confirmed: bool) -> Row:
    """A published claim for which there is no band: confirmed and reported, or a miss."""
    return Row(what, paper, shown, None, "reported" if confirmed else "miss")


NEAR = 1.5
"""A published size without a band counts as confirmed within this factor."""


def sized(what: str, paper: float, measured: Interval) -> Row:
    """A published change in per cent for which there is no band: confirmed where ours is about as large."""
    near = paper / NEAR if paper < 0 else paper * NEAR, paper * NEAR if paper < 0 else paper / NEAR
    return claim(what, f"{paper:+g} %", percent(measured), confirmed=min(near) <= measured.mean <= max(near))


def change(after: Sequence[float], before: Sequence[float]) -> Interval:
    """The change in per cent from before to after, seed by seed."""
    return interval([100 * (a / b - 1) for a, b in zip(after, before, strict=True)])


def percent(i: Interval) -> str:
    """A change with its range over the seeds."""
    return f"{i.mean:+.1f} % [{i.low:+.0f} … {i.high:+.0f}]"


@dataclass(frozen=True, slots=True)
class Line:
    """A named curve of a figure."""

    name: str
    x: Sequence[float]
    y: Sequence[float]


@dataclass(frozen=True, slots=True)
class Figure:
    """What a plot shows: curves over x, or bars by category where the x are words."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    categories: tuple[str, ...] = ()
    log_x: bool = False
    log_y: bool = True


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an experiment found, on which trace and with which seeds."""

    id: str
    title: str
    trace: str
    seeds: str
    rows: tuple[Row, ...]
    figures: tuple[Figure, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """The outcome as `headgate reproduce --json` prints it."""
        rows = [
            {
                "what": r.what,
                "paper": r.paper,
                "measured": r.measured,
                "band": r.band,
                "ok": r.ok,
                "verdict": r.verdict,
            }
            for r in self.rows
        ]
        return {
            "id": self.id,
            "title": self.title,
            "trace": self.trace,
            "seeds": self.seeds,
            "rows": rows,
            "notes": list(self.notes),
        }


def counted(outcomes: Sequence[Outcome]) -> str:
    """How many rows have which verdict, in words."""
    verdicts = [row.verdict for o in outcomes for row in o.rows]
    return (
        f"{verdicts.count('in band')} in band, {verdicts.count('out of band')} out of band, "
        f"{verdicts.count('miss')} published claims missed, {verdicts.count('reported')} reported without a band"
    )


Task = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True)
class Experiment:
    """A published experiment: the simulations it needs, and how their results become an outcome.

    `tasks` names each simulation by a key, so that experiments which need the same one share it.
    """

    id: str
    title: str
    figure: str
    tasks: Callable[["Scale"], Mapping[Any, Task]]
    outcome: Callable[["Scale", Mapping[Any, Any]], Outcome] = field(repr=False)


@dataclass(frozen=True, slots=True)
class Scale:
    """How large a run is, and on which traces."""

    quick: bool
    traces: tuple[Any, ...]
