"""What may stand in a scenario file: its keys, their types and their defaults. docs/scenario.md explains them."""

from collections.abc import Collection, Mapping
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, PlainValidator, model_validator

from headgate.document import shown
from headgate.fields import (
    Above0,
    Longer,
    LongerSpan,
    Seconds,
    Span,
    Span0,
    Spec,
    Text,
    choice,
    number,
    or_all,
    or_auto,
    seconds,
    whole,
    whole_number,
)
from headgate.model.operator import Cost, Kind
from headgate.model.sharing import STRATEGIES
from headgate.model.unit import Level, Sharing, Together
from headgate.policy.clusters import KINDS
from headgate.policy.pruning import SEARCHES
from headgate.policy.qos.prospects import Ect
from headgate.policy.qos.tickets import Per
from headgate.policy.registry import POLICIES
from headgate.policy.trains import Train
from headgate.sim.run import Kernel, Setting, Statistics
from headgate.sim.scenario.streams import Count, Stream

MOST_TUPLES = 10**8
"""Of a stream: so many keep a machine busy for days."""


class CostSpec(Spec):
    """The cost of an operator, `a + b·n` for a train of n tuples."""

    noun = "a cost"
    example = "{a: 5ms, b: 10us}"
    a: Seconds = 0.0
    b: Seconds = 0.0


def _cost(data: object) -> object:
    return data if isinstance(data, Mapping) else {"b": seconds()(data)}


class StepSpec(Spec):
    """An operator without its name, kind and inputs."""

    noun = "an operator"
    example = "{cost: 2ms, selectivity: 0.1}"
    cost: Annotated[CostSpec, BeforeValidator(_cost)] | None = None
    selectivity: Annotated[float, BeforeValidator(number(such_as=0.5))] | None = None
    window: Seconds | None = None

    @property
    def price(self) -> Cost | None:
        """The cost as the model has it."""
        return Cost(self.cost.a, self.cost.b) if self.cost else None


_INNER = [kind for kind in Kind if kind is not Kind.SOURCE]
_IN_CHAIN = [kind for kind in _INNER if kind not in (Kind.WINDOW_JOIN, Kind.UNION)]


class OperatorSpec(StepSpec):
    """An operator of any network."""

    example = "{kind: select, inputs: [ticks], cost: 2ms, selectivity: 0.1}"
    kind: Annotated[Kind, BeforeValidator(choice("kind of operator", _INNER))]
    inputs: list[Text]


def _one_step(data: object) -> object:
    if not isinstance(data, Mapping) or len(data) != 1:
        raise whole(
            "a step of a chain is one operator, by its kind",
            shown(data),
            f"Write it like select: {StepSpec.example}.",
        )
    return data


ChainKind = Annotated[Kind, BeforeValidator(choice("kind of operator in a chain", _IN_CHAIN))]
Step = Annotated[dict[ChainKind, StepSpec], BeforeValidator(_one_step)]


class QuerySpec(Spec):
    """A query: a chain of operators of its own, or the output of a network's operator."""

    noun = "a query"
    example = "{from: ticks, operators: [select: {cost: 2ms, selectivity: 0.1}]}"
    source: Text | None = Field(None, alias="from")
    operators: Annotated[list[Step], Field(min_length=1)] | None = None
    output: Text | None = None
    cls: Text = Field("default", alias="class")

    @model_validator(mode="before")
    @classmethod
    def _one_form(cls, data: object) -> object:
        if isinstance(data, Mapping) and not set(data) - {"from", "operators", "output", "class"}:
            chain, network = {"from", "operators"} <= set(data), "output" in data
            mixed = network and ("from" in data or "operators" in data)
            if mixed or not (chain or network):
                rule = "a query has from and operators, or an output"
                raise whole(rule, shown(data), f"Write it like {cls.example}, or like {{output: hot}}.")
        return data


TESTBEDS = ("single-stream", "two-streams", "shared-select")


class TestbedSpec(Spec):
    """A published query set."""

    noun = "a testbed"
    example = "{kind: single-stream, queries: 500}"
    kind: Annotated[str, BeforeValidator(choice("testbed", TESTBEDS))]
    queries: Count = 500
    group: Count = 10
    seed: Annotated[int, BeforeValidator(whole_number(0, such_as=1))] | None = None

    @model_validator(mode="after")
    def _groups(self) -> "TestbedSpec":
        shared = self.kind == "shared-select"
        if not shared and "group" in self.model_fields_set:
            rule = "only the testbed shared-select has groups"
            raise whole(rule, f"group: {self.group} in {self.kind}", "Remove group.", "group", at_key=True)
        if shared and self.queries % self.group:
            rule = "the queries of shared-select fill their groups"
            got = f"{self.queries} queries in groups of {self.group}"
            raise whole(rule, got, "Give a multiple.", "queries")
        return self


class SharingSpec(Spec):
    """How shared operators are valued, and what runs with them."""

    noun = "sharing"
    example = "{strategy: pdt, together: pdt}"
    strategy: Annotated[str, BeforeValidator(choice("sharing strategy", STRATEGIES))] = "pdt"
    together: Annotated[Together, BeforeValidator(choice("way of running together", get_args(Together)))] = "pdt"

    def make(self) -> Sharing:
        """The sharing as the model has it."""
        return Sharing(self.strategy, self.together)


def _strategy(data: object) -> object:
    return {"strategy": data} if isinstance(data, str) else data


SharingField = Annotated[SharingSpec, BeforeValidator(_strategy)]


class TrainSpec(Spec):
    """How many tuples one run takes."""

    noun = "a train"
    example = "{most: 50, slice: 100ms}"
    most: Annotated[float, PlainValidator(or_all(whole_number(1, such_as=50)))] | None = None
    slice: LongerSpan | None = None

    def make(self, K: float) -> Train:
        """The train as a policy takes it."""
        return Train.of(self.most, self.slice.at(K) if self.slice else None)


def _words(*known: str) -> BeforeValidator:
    return BeforeValidator(choice("word", known))


class PolicySpec(Spec):
    """A policy with its options; which of them it takes, the registry says."""

    noun = "a policy"
    example = "{policy: rr, quantum: 5ms, label: rr-quantum}"
    policy: Annotated[str, BeforeValidator(choice("policy", POLICIES))]
    label: Text | None = None
    level: Annotated[Level, BeforeValidator(choice("level", get_args(Level)))] = "query"
    sharing: SharingField | None = None
    price: Span0 = Span(0.0)
    statistics: Annotated[Statistics, _words(*get_args(Statistics))] = "declared"
    period: Longer = 1.0
    train: TrainSpec | None = None
    runs: Annotated[float, PlainValidator(or_all(whole_number(1, such_as=1)))] | None = None
    quantum: LongerSpan | None = None
    over: Annotated[str, _words("queries", "units")] | None = None
    clusters: Count | None = None
    ratio: Annotated[float, BeforeValidator(number(above=1, such_as=2.5))] | None = None
    kind: Annotated[str, _words(*KINDS)] | None = None
    search: Annotated[str, _words(*SEARCHES)] | None = None
    processing: Annotated[str, _words("cluster", "query")] | None = None
    schedule: Annotated[int | str, PlainValidator(or_auto(whole_number(1, such_as=10)))] | None = None
    ect: Annotated[str, _words(*get_args(Ect))] | None = None
    hopeless_cap: Count | None = None
    recover: bool | None = None
    partitions: Count | None = None
    events: bool | None = None
    tickets: dict[Text, Above0] | None = None
    per: Annotated[str, _words(*get_args(Per))] | None = None
    seed: Annotated[int, BeforeValidator(whole_number(0, such_as=1))] | None = None

    @classmethod
    def known(cls, data: Mapping[str, object]) -> Collection[str]:
        """The keys of all policies, and the options of this one."""
        policy = POLICIES.get(str(data.get("policy")))
        common = ["policy", "label", "level", "sharing", "price", "statistics", "period"]
        return [*common, *policy.options] if policy else super().known(data)

    @classmethod
    def called(cls, data: Mapping[str, object]) -> str:
        """The policy by its name."""
        return f"policy '{data.get('policy')}'" if "policy" in data else cls.noun

    @property
    def name(self) -> str:
        """What it is called in tables."""
        return self.label or self.policy

    def spans(self) -> Mapping[str, Span | None]:
        """The times that can be given in multiples of K, by key."""
        return {"price": self.price, "quantum": self.quantum, "train": self.train.slice if self.train else None}

    def setting(self, K: float, sharing: SharingSpec) -> Setting:
        """The policy as the simulator takes it, where costs have been scaled by K."""
        options: dict[str, Any] = {}
        for option in POLICIES[self.policy].options:
            value = getattr(self, option)
            if isinstance(value, Span):
                options[option] = value.at(K)
            elif isinstance(value, TrainSpec):
                options[option] = value.make(K)
            elif value is not None:
                options[option] = value
        shared = (self.sharing or sharing).make()
        return Setting(
            self.policy,
            options,
            level=self.level,
            sharing=shared,
            price=self.price.at(K),
            statistics=self.statistics,
            period=self.period,
            label=self.name,
        )


def _named(data: object) -> object:
    return {"policy": data} if isinstance(data, str) else data


class ScenarioFile(Spec):
    """A scenario: streams, queries over them, and the policies to compare."""

    noun = "a scenario"
    example = "the files in examples/"
    name: Text | None = None
    streams: Annotated[dict[Text, Stream], Field(min_length=1, examples=["{ticks: {arrivals: poisson, rate: 100}}"])]
    queries: Annotated[dict[Text, QuerySpec], Field(min_length=1)] | None = None
    operators: dict[Text, OperatorSpec] = Field(default_factory=dict)
    testbed: TestbedSpec | None = None
    utilisation: Annotated[float, BeforeValidator(number(above=0, such_as=0.9))] | None = None
    tuples: Annotated[int, BeforeValidator(whole_number(1, such_as=20000, most=MOST_TUPLES))] | None = None
    duration: Longer | None = None
    policies: Annotated[
        list[Annotated[PolicySpec, BeforeValidator(_named)]], Field(min_length=1, examples=["[fcfs, hnr, bsd]"])
    ]
    sharing: SharingField = SharingSpec()
    kernel: Annotated[Kernel, BeforeValidator(choice("kernel", get_args(Kernel)))] = "auto"
    seeds: list[Annotated[int, BeforeValidator(whole_number(0, such_as=1))]] = Field([1], min_length=1)
