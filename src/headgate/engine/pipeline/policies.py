"""The policy that a pipeline file names, with its options."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema

from headgate.engine.pipeline.spec import FilledSpec, ShortSpec
from headgate.engine.pipeline.values import Count, LongerTime
from headgate.engine.regime import AUTO
from headgate.fields import choice, number, or_all, whole_number
from headgate.policy.classes.registry import SCHEDULERS
from headgate.policy.clusters import KINDS
from headgate.policy.pruning import SEARCHES
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
    period: LongerTime | None = Field(None, description="cqc: how long a round of all classes lasts.")
    inner: Annotated[str, *_one_of(POLICIES)] | None = Field(None, description="cqc: the policy inside a class.")
    processing: Annotated[Processing, *_one_of(get_args(Processing))] | None = Field(
        None, description="bsd-clustered: whether a decision runs a whole cluster or one query."
    )

    @classmethod
    def known(cls, data: Mapping[str, object]) -> Collection[str]:
        """The options of this policy."""
        name = str(data.get("name"))
        if name == AUTO:
            return ["name"]
        if name in CLASSED:
            return ["name", *(option for option in SCHEDULERS[name].options if option in cls.model_fields)]
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
