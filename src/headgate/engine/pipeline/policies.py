"""The policy that a pipeline file names, with its options."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema
from pydantic.config import JsonDict

from headgate.engine.pipeline.spec import FilledSpec, ShortSpec
from headgate.engine.pipeline.values import Count, LongerTime, Rate, Seed, Switch
from headgate.engine.regime import AUTO
from headgate.fields import choice, number, or_all, or_auto, whole_number
from headgate.policy.classes.inversion import MODULES
from headgate.policy.classes.mbd import Selectivity
from headgate.policy.classes.programs import VARIANTS
from headgate.policy.classes.registry import SCHEDULERS
from headgate.policy.classes.turns import Base
from headgate.policy.classes.window import Level
from headgate.policy.clusters import KINDS
from headgate.policy.pruning import SEARCHES
from headgate.policy.qos.prospects import Ect
from headgate.policy.qos.tickets import Per
from headgate.policy.registry import POLICIES
from headgate.policy.round_robin import Turns
from headgate.policy.trains import Train

CLASSED = tuple(name for name in SCHEDULERS if name not in POLICIES)
"""The policies that go by classes first."""

NAMES = (AUTO, *POLICIES, *CLASSED)

Processing = Literal["cluster", "query"]
CountOrAll = Annotated[
    float,
    PlainValidator(or_all(whole_number(1, such_as=50))),
    WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "all"}]}),
]


def _one_of(words: Collection[str]) -> tuple[BeforeValidator, WithJsonSchema]:
    return BeforeValidator(choice("word", words)), WithJsonSchema({"enum": list(words)})


def _level(value: object) -> object:
    return value if value == "mean" else number(above=0, such_as=75)(value)


_LEVELS: JsonDict = {"anyOf": [{"const": "mean"}, {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 100}]}
_SIZES = WithJsonSchema({"anyOf": [{"type": "integer", "minimum": 1}, {"const": "auto"}]})


class TrainSpec(FilledSpec):
    """How many tuples one run takes."""

    noun = "a train"
    example = "{most: 50, slice: 100ms}"
    most: CountOrAll | None = Field(None, description="At most so many tuples, or all.")
    slice: LongerTime | None = Field(
        None, description="About so much work, which bounds how long others are blocked."
    )


class PolicySpec(ShortSpec):
    """Which query runs next."""

    noun = "a policy"
    example = "{name: bsd, train: {slice: 200ms}}"
    main = "name"
    name: Annotated[
        str, BeforeValidator(choice("policy", NAMES)), WithJsonSchema({"enum": list(NAMES)}), Field(examples=["bsd"])
    ] = Field(description="The policy; auto lets the engine choose.")
    train: TrainSpec | None = Field(None, description="What bounds the length of a run.")
    runs: CountOrAll | None = Field(None, description="rr: the runs of a visit.")
    quantum: LongerTime | None = Field(None, description="rr: how long a visit lasts.")
    over: Annotated[Turns, *_one_of(get_args(Turns))] | None = Field(None, description="rr: what takes turns.")
    clusters: Count | None = Field(None, description="bsd-clustered: how many clusters.")
    ratio: Annotated[float, Field(gt=1), BeforeValidator(number(above=1, such_as=2.5))] | None = Field(
        None, description="bsd-clustered: the ratio between the bounds of a cluster, instead of a number of clusters."
    )
    kind: Annotated[str, *_one_of(KINDS)] | None = Field(None, description="bsd-clustered: how clusters are cut.")
    search: Annotated[str, *_one_of(SEARCHES)] | None = Field(
        None, description="bsd-clustered: how the best is found."
    )
    processing: Annotated[Processing, *_one_of(get_args(Processing))] | None = Field(
        None, description="bsd-clustered: whether a decision runs a whole cluster or one query."
    )
    period: LongerTime | None = Field(None, description="cqc: how long a round of all classes lasts.")
    inner: Annotated[str, *_one_of(POLICIES)] | None = Field(None, description="cqc: the policy inside a class.")
    literal: Switch | None = Field(None, description="cqc: the printed update of credits, which rewards an excess.")
    q0: LongerTime | None = Field(None, description="abd: how long slots are at first.")
    q_max: LongerTime | None = Field(None, description="abd: how long slots may become.")
    keep_order: Switch | None = Field(None, description="abd: frequencies stay in the order of the priorities.")
    inversion: Annotated[str, *_one_of(("none", *MODULES))] | None = Field(
        None, description="mbd, ambd: what is done when a class is slower than a less important one."
    )
    selectivity: Annotated[Selectivity, *_one_of(get_args(Selectivity))] | None = Field(
        None, description="mbd, ambd: when costs are taken anew."
    )
    up: Switch | None = Field(None, description="mbd, ambd: priorities that are changed hold from the next round on.")
    level: Annotated[Level, BeforeValidator(_level), WithJsonSchema(_LEVELS)] | None = Field(
        None, description="abd, mbd, ambd: at which response times inversion is looked for: mean, or a percentile."
    )
    samples: Count | None = Field(None, description="abd, mbd, ambd: response times of a class before it is.")
    variant: Annotated[str, *_one_of(VARIANTS)] | None = Field(
        None, description="abd, mbd, ambd: how turns are spread over a round."
    )
    mprr_base: Annotated[Base, *_one_of(get_args(Base))] | None = Field(
        None, description="mprr: what a priority is a part of, all of them or the highest."
    )
    schedule: Annotated[int | str, PlainValidator(or_auto(whole_number(1, such_as=10))), _SIZES] | None = Field(
        None, description="qos and the like: how many runs are decided on at once; auto finds out."
    )
    ect: Annotated[Ect, *_one_of(get_args(Ect))] | None = Field(
        None, description="qos, bucketing, slope-slack: how the time until results are out is estimated."
    )
    hopeless_cap: Count | None = Field(
        None, description="qos, bucketing, slope-slack: tuples of a run whose results are too late anyway."
    )
    recover: Switch | None = Field(
        None,
        description="bucketing, slope-slack: under overload, what takes most is given up, and least work catches up.",
    )
    partitions: Count | None = Field(None, description="bucketing: ranges of slope, and of slack.")
    events: Switch | None = Field(None, description="bucketing: only what has changed is put into cells anew.")
    tickets: dict[str, Rate] | None = Field(
        None, description="lottery, stride: the tickets of queries or classes, by name; one each if not given."
    )
    per: Annotated[Per, *_one_of(get_args(Per))] | None = Field(
        None, description="stride: what is parted by tickets, time or tuples."
    )
    seed: Seed | None = Field(
        None, description="mbd, ambd, mol, lottery, qos and the like: of what is left to chance."
    )

    @classmethod
    def known(cls, data: Mapping[str, object]) -> Collection[str]:
        """The options of this policy."""
        name = str(data.get("name"))
        if name == AUTO:
            return ["name"]
        if name in CLASSED:
            return ["name", *SCHEDULERS[name].options]
        return ["name", *POLICIES[name].options] if name in POLICIES else super().known(data)

    @classmethod
    def called(cls, data: Mapping[str, object]) -> str:
        """The policy by its name."""
        return f"policy '{data.get('name')}'" if "name" in data else cls.noun

    @property
    def options(self) -> dict[str, Any]:
        """The options as the registry takes them."""
        given = {name: getattr(self, name) for name in self.model_fields_set - {"name", "train"}}
        if self.train:
            given["train"] = Train.of(self.train.most, self.train.slice)
        return {name: value for name, value in given.items() if value is not None}
