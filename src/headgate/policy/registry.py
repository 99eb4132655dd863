"""The policies by name: how scenarios, the engine and the documentation find them."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from headgate.errors import InputError, choose
from headgate.model.unit import Weight
from headgate.policy.bsd import BSD
from headgate.policy.chain import CHAIN
from headgate.policy.clustered_bsd import FORMULA as OF_CLUSTER
from headgate.policy.clustered_bsd import ClusteredBsd
from headgate.policy.fcfs import FCFS
from headgate.policy.hnr import HNR
from headgate.policy.hr import HR
from headgate.policy.lsf import LSF
from headgate.policy.ml import ML
from headgate.policy.protocol import Policy
from headgate.policy.qos import bucketing, fixed_priority, in_turn, slope_slack, tickets
from headgate.policy.qos.bucketing import Bucketing
from headgate.policy.qos.fixed_priority import FixedPriority
from headgate.policy.qos.in_order import InOrder
from headgate.policy.qos.in_turn import InTurn
from headgate.policy.qos.slope_slack import SlopeSlack
from headgate.policy.qos.tickets import Lottery, Stride
from headgate.policy.round_robin import FORMULA as IN_TURN
from headgate.policy.round_robin import RoundRobin
from headgate.policy.srpt import SRPT, SRPT_C
from headgate.policy.statement import Per, PriorityPolicy, Statement
from headgate.policy.trains import Train


@dataclass(frozen=True, slots=True)
class Listed:
    """A registered policy: what it optimises, its formula, its options, and its weight of a shared segment.

    `graphs` says that it goes by QoS graphs.
    """

    name: str
    optimises: str
    formula: str
    make: Callable[..., Policy]
    options: tuple[str, ...]
    weight: Weight
    graphs: bool = False


def _stated(statement: Statement) -> Listed:
    # A policy that knows no rate still has to share operators; the normalised rate decides there.
    weight = statement.weight if statement.per is Per.COST else HNR.weight
    return Listed(
        statement.name,
        statement.optimises,
        statement.formula,
        partial(PriorityPolicy, statement),
        ("train",),
        weight,
    )


_Made = RoundRobin | ClusteredBsd | InTurn | FixedPriority | SlopeSlack | InOrder | Bucketing | Lottery | Stride


def _own(name: str, optimises: str, formula: str, made: type[_Made], weight: Weight) -> Listed:
    return Listed(name, optimises, formula, made, tuple(f.name for f in fields(made) if f.init), weight)


def _by_graphs(name: str, optimises: str, formula: str, made: type[_Made]) -> Listed:
    # What they say of sharing is open; the normalised rate decides there too.
    return replace(_own(name, optimises, formula, made, HNR.weight), graphs=True)


# A run on Spark is long against a decision, so there is no need to decide on several at once.
_QOS = replace(
    _by_graphs("qos", "average QoS; the one to use with QoS graphs", slope_slack.FORMULA, InOrder),
    make=partial(InOrder, schedule=1, recover=True),
)

POLICIES: Mapping[str, Listed] = {
    listed.name: listed
    for listed in (
        _stated(FCFS),
        _own("rr", "fair turns; the baseline of most stream systems", IN_TURN, RoundRobin, HR.weight),
        *map(_stated, (SRPT, SRPT_C, HR, HNR, LSF, BSD)),
        _own("bsd-clustered", "as bsd, at a fraction of its scheduling cost", OF_CLUSTER, ClusteredBsd, BSD.weight),
        *map(_stated, (CHAIN, ML)),
        _QOS,
        _by_graphs("slope-slack", "average QoS", slope_slack.FORMULA, SlopeSlack),
        _by_graphs("bucketing", "as slope-slack, at a fraction of its cost", bucketing.FORMULA, Bucketing),
        _by_graphs("fixed-priority", "deadlines, the tightest first", fixed_priority.FORMULA, FixedPriority),
        _own("in-turn", "nothing; the baseline of Aurora", in_turn.FORMULA, InTurn, HNR.weight),
        _own("lottery", "parts of the turns by tickets, by chance", tickets.DRAWN, Lottery, HNR.weight),
        _own("stride", "parts of the time by tickets, exactly", tickets.STRIDE, Stride, HNR.weight),
    )
}


def listed(name: str, besides: Iterable[str] = ()) -> Listed:
    """The registered policy of that name; `besides` are what else could have been named."""
    if name not in POLICIES:
        raise InputError("a known policy", f"'{name}'", choose(name, dict.fromkeys((*POLICIES, *besides))))
    return POLICIES[name]


def create(name: str, options: Mapping[str, Any] | None = None) -> Policy:
    """A policy made from its name and options, as a scenario or pipeline file gives them."""
    entry = listed(name)
    given = dict(options or {})
    for option in given:
        if option not in entry.options:
            raise InputError(
                f"policy '{name}': a known option", f"'{option}'", f"It takes {', '.join(entry.options)}."
            )
    if "train" in given and not isinstance(given["train"], Train):
        given["train"] = bounds(f"policy '{name}'", given["train"])
    return entry.make(**given)


def bounds(whose: str, given: object) -> Train:
    """A train by its bounds, as a scenario or pipeline file gives them."""
    known = [f.name for f in fields(Train)]
    if not isinstance(given, Mapping):
        raise InputError(f"{whose}: a train is given by its bounds", given, "Write train: {most: 50}.")
    for option in given:
        if option not in known:
            raise InputError(f"{whose}: a known bound of a train", f"'{option}'", f"It has {', '.join(known)}.")
    return Train.of(**given)
