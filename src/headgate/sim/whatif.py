"""What a recorded run would have been under other choices: the record as a workload, served in the simulator.

The choices of the run itself are always predicted too: how far that is from what was measured says how far to trust
the rest.
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count
from typing import Any, get_args

import numpy as np

from headgate.control.dilos import Mode
from headgate.control.regime import Given, Regime, regime
from headgate.control.shedding import Shed
from headgate.errors import InputError, choose
from headgate.monitor.figures import Figures
from headgate.monitor.responses import quantile
from headgate.policy.classes.registry import SCHEDULERS
from headgate.policy.deadlines import FORMULA, Order
from headgate.policy.registry import POLICIES
from headgate.record import Recorded
from headgate.shed.registry import listed
from headgate.sim.replay import Replayed, serve
from headgate.sim.server import Service
from headgate.sim.workload import Due, Floats, UnitSpec, Workload

P99 = 0.99
MOST_LANES, MOST_TUPLES = 256, 20_000_000
"""What fits into the memory of a small machine and into a minute."""


@dataclass(frozen=True, slots=True)
class Added:
    """A query that was not there. It reads what `like` reads, a query or a unit of the run.

    A run over n tuples takes a + b·n seconds, and a tuple gives S results. What is not said is as in that unit; of a
    query that runs with others, it is its equal part of their b and S.
    """

    name: str
    like: str
    cls: str | None = None
    a: float | None = None
    b: float | None = None
    S: float | None = None


@dataclass(frozen=True, slots=True)
class Choices:
    """What is to be other than it was; what is None stays.

    `shed` is a mode of load management, or a mode and a load manager as in `dilos:aloma`. With a `rate` of 2, twice
    as many tuples come in the same time. `lanes` are those of each kind that the run had.
    """

    policy: str | None = None
    shed: str | None = None
    rate: float = 1.0
    lanes: int | None = None
    added: tuple[Added, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not (math.isfinite(self.rate) and self.rate > 0):
            raise InputError("tuples come so many times as fast", self.rate, "Give a number above 0, such as 2.")
        if self.lanes is not None and self.lanes < 1:
            raise InputError("there is at least one lane", self.lanes, "Give 1 or more.")
        if self.lanes is not None and self.lanes > MOST_LANES:
            raise InputError(f"there are at most {MOST_LANES} lanes", self.lanes, "Give fewer.")


AS_RECORDED = Choices()


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a class: of the tuples `offered` to its units so many were `processed`, `shed`, or `waiting`.

    Response times are seconds, not a number where there were no results; nor is the average `qos` where no query has
    a graph.
    """

    offered: int
    processed: int
    shed: int
    waiting: int
    results: float
    mean: float
    p99: float
    qos: float

    @property
    def loss(self) -> float:
        """The share of what was read that was dropped."""
        passed = self.processed + self.shed
        return self.shed / passed if passed else 0.0


@dataclass(frozen=True, slots=True)
class Case:
    """A run as it was or would be: its choices in words, the share of its lanes' time in use, and each class.

    So many queries were `added`.
    """

    policy: str
    shed: str
    lanes: int
    rate: float
    utilisation: float
    classes: Mapping[str, Fate]
    added: int = 0


@dataclass(frozen=True, slots=True)
class Prediction:
    """A recorded run as it was `measured`, as the simulator has it, and as it would be under the choices.

    Without choices there is no third. `assumed` says what the prediction takes for granted.
    """

    measured: Case
    recorded: Case
    chosen: Case | None
    targets: Mapping[str, float | None]
    assumed: tuple[str, ...]


def predict(recorded: Recorded, choices: Choices = AS_RECORDED) -> Prediction:
    """What the simulator says of a recorded run: as it was, and under other choices."""
    workload = Workload.from_record(recorded)
    own = predicted(recorded, AS_RECORDED, workload)
    changed = choices != AS_RECORDED
    targets = {
        each.name: each.delay_target if math.isfinite(each.delay_target) else None for each in workload.classes
    }
    return Prediction(
        measured(recorded),
        own,
        predicted(recorded, choices, workload) if changed else None,
        targets,
        tuple(_assumed(recorded, choices)),
    )


def measured(recorded: Recorded) -> Case:
    """The run as it was."""
    spread: dict[str, Counter[int]] = {}
    for life in recorded.lives:
        for ran in life.ran:
            spread.setdefault(life.latest.cls, Counter()).update(ran.spread)
    shed, lanes = recorded.began.shed, recorded.began.lanes
    words = str(Shed(**shed)) if shed else "none"
    overall, fates = recorded.measured.overall, _fates(recorded.measured.classes, spread)
    for cls, left in _left_out(recorded).items():
        fates[cls] = replace(fates[cls], offered=fates[cls].offered + left, shed=fates[cls].shed + left)
    return Case(recorded.began.policy, words, lanes, 1.0, overall.utilisation, fates)


def _left_out(recorded: Recorded) -> Counter[str]:
    """The tuples of windows with a deadline that were not read, by class: there are no runs that shed them."""
    of = {query: life.latest.cls for life in recorded.lives for query in life.latest.queries}
    left: Counter[str] = Counter()
    for each in recorded.iterated:
        if each.query in of:
            left[of[each.query]] += round((1 - each.kept) * each.tuples)
    return left


def predicted(recorded: Recorded, choices: Choices, workload: Workload | None = None) -> Case:
    """The run as it would be under some choices."""
    found, service = replayed(recorded, choices, workload)
    words = str(service.shed) if service.shed else "none"
    fates = _fates(found.summary.classes, found.spread)
    utilisation, added = found.summary.overall.utilisation, len(choices.added)
    return Case(found.policy, words, service.lanes, choices.rate, utilisation, fates, added)


def replayed(
    recorded: Recorded, choices: Choices = AS_RECORDED, workload: Workload | None = None
) -> tuple[Replayed, Service]:
    """A recorded run served under some choices, and how."""
    workload = workload or Workload.from_record(recorded)
    began = recorded.began
    kinds = began.lanes - began.resident, began.resident
    jobs, resident = (n if choices.lanes is None else choices.lanes if n else 0 for n in kinds)
    graphs = any(life.latest.graphs for life in recorded.lives)
    given = Given(workload.classes, began.named, graphs, jobs + resident, max(jobs, resident), began.empty)
    chosen = _regime(recorded, choices, given)
    shed = _shed(choices.shed) if choices.shed else Shed(**began.shed) if began.shed else None
    # As it was, the policy hears what it heard; otherwise it has other runs to learn from.
    learns = choices != AS_RECORDED
    bounds = chosen.bounds.most, learns, chosen.overripe
    service = Service(chosen.make, jobs, resident, shed, *bounds, _order(recorded))
    return serve(_with(workload, choices, recorded), chosen.name, service), service


def _regime(recorded: Recorded, choices: Choices, given: Given) -> Regime:
    """The policy of the run with its options, or another one as the engine would have it."""
    began = recorded.began
    train = began.options.get("train")
    if choices.policy in (None, began.policy):
        own = {name: value for name, value in began.options.items() if name != "train"}
        return regime(began.policy, given, train, {**own, **choices.options})
    name = regime(choices.policy or "", given).name
    if name == began.policy:
        return _regime(recorded, replace(choices, policy=None), given)
    alike = _classed(name) == _classed(began.policy)
    return regime(name, given, train if alike or not began.empty else None, choices.options)


def _order(recorded: Recorded) -> Order:
    """Who of those with a deadline went first."""
    formulas = {ran.formula for ran in recorded.ran}
    return next((order for order, formula in FORMULA.items() if formula in formulas), "rate")


def _classed(policy: str) -> bool:
    return policy not in POLICIES and policy in SCHEDULERS


def _shed(text: str) -> Shed | None:
    mode, named, manager = text.partition(":")
    if mode not in get_args(Mode):
        raise InputError("a known mode of load management", f"'{mode}'", f"Choose {', '.join(get_args(Mode))}.")
    if named:
        listed(manager)
    found: Mode = mode  # type: ignore[assignment]
    return None if mode == "none" else Shed(found, manager) if manager else Shed(found)


def _fates(figures: Mapping[str, Figures], spread: Mapping[str, Mapping[int, float]]) -> dict[str, Fate]:
    return {name: _fate(each, spread.get(name, {})) for name, each in figures.items()}


def _fate(seen: Figures, spread: Mapping[int, float]) -> Fate:
    passed = round(seen.runs * seen.avg_train) if seen.runs else 0
    return Fate(
        passed + seen.waiting,
        passed - seen.shed,
        seen.shed,
        seen.waiting,
        seen.results,
        seen.avg_response,
        quantile(spread, P99, seen.max_response),
        seen.qos,
    )


def _with(workload: Workload, choices: Choices, recorded: Recorded) -> Workload:
    """The workload with other queries and denser arrivals."""
    found = workload
    for added in choices.added:
        found = replace(found, units=(*found.units, _unit(found, added, recorded)))
    return found if choices.rate == 1 else _denser(found, choices.rate)


def _unit(workload: Workload, added: Added, recorded: Recorded) -> UnitSpec:
    name, parts = _resembled(added, recorded)
    classes = [each.name for each in workload.classes]
    if added.cls is not None and added.cls not in classes:
        rule = f"query '{added.name}': its class is one of the run's"
        raise InputError(rule, f"'{added.cls}'", f"Choose {', '.join(classes)}.")
    # The last of that name: units that change their queries keep it.
    model = [unit for unit in workload.units if unit.name == name][-1]
    a = model.a if added.a is None else added.a
    b = model.b / parts if added.b is None else added.b
    S = model.S / parts if added.S is None else added.S
    # Its part of what results are worth to all queries of the unit.
    graphs = tuple(graph.times(1 / model.valued) for graph in model.graphs) if model.valued else model.graphs
    windows = tuple(Due(at, many * S / model.S) for at, many in model.windows) if model.S else model.windows
    return replace(
        model,
        name=_apart(added.name, workload.units),
        cls=added.cls or model.cls,
        a=a,
        b=b,
        S=S,
        beliefs=(),
        graphs=graphs,
        windows=windows,
        queries=(added.name,),
        valued=model.valued and 1,
    )


def _apart(name: str, units: Sequence[UnitSpec]) -> str:
    """A name that no unit has: load managers tell them by it, and a file may name queries of the run once more."""
    known = {unit.name for unit in units}
    return next(each for each in chain((name,), (f"{name} {i}" for i in count(2))) if each not in known)


def _resembled(added: Added, recorded: Recorded) -> tuple[str, int]:
    """The unit that a query is like, and how many share its work."""
    units = recorded.units
    if added.like in units:
        return added.like, 1
    for unit in units.values():
        if added.like in unit.queries:
            return unit.unit, len(unit.queries)
    known = list(dict.fromkeys(query for unit in units.values() for query in unit.queries))
    remedy = choose(added.like, known) if known else "It has none."
    raise InputError(f"query '{added.name}' is like one of the run", f"'{added.like}'", remedy)


def _denser(workload: Workload, rate: float) -> Workload:
    """As many times as many tuples in the same time, as they were spread."""
    if (tuples := rate * sum(map(len, workload.arrivals.values()))) > MOST_TUPLES:
        raise InputError(f"a prediction has at most {MOST_TUPLES:,} tuples", f"{tuples:,.0f}", "Give a lower rate.")

    def places(found: Mapping[str, int]) -> dict[str, int]:
        return {name: round(place * rate) for name, place in found.items()}

    def more(times: Floats, *, readable: bool) -> Floats:
        if not len(times):
            return times
        at = np.minimum(np.arange(round(len(times) * rate)) / rate, len(times) - 1)
        return times[np.ceil(at).astype(np.int64)] if readable else np.interp(at, np.arange(len(times)), times)

    return replace(
        workload,
        units=tuple(replace(unit, first=places(unit.first), last=places(unit.last)) for unit in workload.units),
        arrivals={name: more(times, readable=False) for name, times in workload.arrivals.items()},
        readable={name: more(workload.seen(name), readable=True) for name in workload.arrivals},
    )


def _assumed(recorded: Recorded, choices: Choices) -> Sequence[str]:
    """What a prediction takes for granted."""
    found = ["a run takes a + b·n as measured, on a machine that is as fast at each moment as it was"]
    if any(len(life.latest.queries) > 1 for life in recorded.lives):
        found.append("queries run in the units in which they ran")
    windows = [life.latest.unit for life in recorded.lives if life.latest.windows]
    if windows:
        names = ", ".join(dict.fromkeys(windows))
        found.append(f"windows of {names} close when they did, each with as many results")
    if recorded.iterated:
        found.append(
            "queries with a deadline go before others, read each window once and all that came for it, and are not "
            "tested anew whether they are taken in"
        )
    if recorded.began.shed and recorded.began.shed.get("mode") == "dilos+sharing":
        found.append("who rides with another class does so as it did")
    if choices.rate != 1:
        found.append(
            f"{choices.rate:g} times as many tuples come, spread like those that came, and cost as much each"
        )
    if choices.lanes is not None:
        found.append("every lane is as fast as those of the run: there are cores for all of them")
    for added in choices.added:
        given = [f"{name} = {getattr(added, name):g}" for name in ("a", "b", "S") if getattr(added, name) is not None]
        unit, parts = _resembled(added, recorded)
        of = f"with one of {parts} equal parts of b and S of unit {unit}" if parts > 1 else f"like unit {unit}"
        told = f"{', '.join(given)}, otherwise {of}" if given else of
        found.append(f"query {added.name} has a unit of its own: {told}")
    return found
