"""The streams of a scenario file: an arrival process with its parameters, or a trace."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Discriminator, Field, Tag, model_validator

from headgate.document import shown
from headgate.errors import InputError, choose
from headgate.fields import (
    Above0,
    AtLeast0,
    Longer,
    Seconds,
    Spec,
    Text,
    as_whole,
    choice,
    whole,
    whole_number,
)
from headgate.sim import arrivals as processes
from headgate.sim import traces

Count = Annotated[int, BeforeValidator(whole_number(1, such_as=10))]


class Process(Spec):
    """A stream whose tuples come by an arrival process of `headgate.sim.arrivals`."""

    makes: ClassVar[Callable[..., processes.Arrivals]]
    arrivals: str

    def make(self, folder: Path) -> processes.Arrivals:  # noqa: ARG002 - as a trace has it
        """The process."""
        return self.makes(**self.model_dump(exclude={"arrivals"}))

    @model_validator(mode="after")
    def _possible(self) -> "Process":
        with as_whole():
            try:
                self.make(Path())
            except InputError as error:
                # The rule begins with the name of a class, of which the file knows nothing.
                rule = error.rule.split(": ", 1)[-1]
                raise InputError(f"{self.arrivals}: {rule}", error.got, error.remedy) from None
        return self


class PoissonSpec(Process):
    noun = "a poisson stream"
    example = "{arrivals: poisson, rate: 100}"
    makes = processes.Poisson
    rate: Above0


class ConstantSpec(Process):
    noun = "a constant stream"
    example = "{arrivals: constant, rate: 100}"
    makes = processes.Constant
    rate: Above0


class OnOffSpec(Process):
    noun = "an on-off stream"
    example = "{arrivals: on-off, sources: 16, rate: 10}"
    makes = processes.OnOff
    sources: Count = 16
    alpha: Above0 = 1.4
    mean_on: Longer = 1.0
    mean_off: Longer = 4.0
    rate: Above0 = 10.0


class BModelSpec(Process):
    noun = "a b-model stream"
    example = "{arrivals: b-model, rate: 100, bias: 0.65}"
    makes = processes.BModel
    rate: Above0
    bias: Above0 = 0.65
    bin: Longer = 0.5
    levels: Count = 10


class StepsSpec(Process):
    noun = "a steps stream"
    example = "{arrivals: steps, levels: [[0s, 100], [1min, 250]]}"
    makes = processes.Steps
    levels: Annotated[tuple[tuple[Seconds, AtLeast0], ...], Field(min_length=1)]


class RampSpec(Process):
    noun = "a ramp stream"
    example = "{arrivals: ramp, start_rate: 10, end_rate: 200, duration: 1min}"
    makes = processes.Ramp
    start_rate: AtLeast0
    end_rate: AtLeast0
    duration: Longer


class ParetoIntervalsSpec(Process):
    noun = "a pareto-intervals stream"
    example = "{arrivals: pareto-intervals, low: 20, high: 500, interval: 1s}"
    makes = processes.ParetoIntervals
    low: Above0
    high: Above0
    interval: Longer
    skew: Above0 = 1.0


class TraceSpec(Spec):
    """A stream whose tuples come when those of a file came."""

    noun = "a trace stream"
    example = "{trace: packets.csv, column: time}"
    trace: Text
    form: Annotated[str, BeforeValidator(choice("form of trace", traces.FORMS))] = "auto"
    column: Text | None = None
    scale: Above0 = 1.0
    skip: Annotated[int, BeforeValidator(whole_number(0, such_as=1000))] = 0
    limit: Annotated[int, BeforeValidator(whole_number(1, such_as=20000))] | None = None

    def make(self, folder: Path) -> traces.Trace:
        """The trace; a relative path starts at the folder."""
        return traces.Trace(folder / self.trace, self.form, self.column, self.scale, self.skip, self.limit)


PROCESSES = {
    "poisson": PoissonSpec,
    "constant": ConstantSpec,
    "on-off": OnOffSpec,
    "b-model": BModelSpec,
    "steps": StepsSpec,
    "ramp": RampSpec,
    "pareto-intervals": ParetoIntervalsSpec,
}


def _stream(data: object) -> object:
    """Refuses a stream of which it cannot be said what kind it is."""
    rule = "a stream has either arrivals or a trace"
    if not isinstance(data, Mapping):
        raise whole("a stream is a mapping", shown(data), f"Write it like {PoissonSpec.example}.")
    if ("arrivals" in data) == ("trace" in data):
        typo = next((k for k in data if k not in TraceSpec.model_fields), "")
        remedy = "Remove one of them." if "trace" in data else choose(typo, ["arrivals", "trace"])
        raise whole(rule, shown(data), remedy)
    kind = data.get("arrivals", "poisson")
    if not isinstance(kind, str) or kind not in PROCESSES:
        raise whole("arrivals are of a known kind", shown(kind), choose(str(kind), PROCESSES), "arrivals")
    return data


def _kind(data: Mapping[str, object]) -> str:
    return str(data["arrivals"]) if "arrivals" in data else "a trace"


Stream = Annotated[
    Annotated[PoissonSpec, Tag("poisson")]
    | Annotated[ConstantSpec, Tag("constant")]
    | Annotated[OnOffSpec, Tag("on-off")]
    | Annotated[BModelSpec, Tag("b-model")]
    | Annotated[StepsSpec, Tag("steps")]
    | Annotated[RampSpec, Tag("ramp")]
    | Annotated[ParetoIntervalsSpec, Tag("pareto-intervals")]
    | Annotated[TraceSpec, Tag("a trace")],
    Discriminator(_kind),
    BeforeValidator(_stream),
]
