"""Classes of queries and load management, as a pipeline file gives them."""

from typing import Annotated, get_args

from pydantic import BeforeValidator, Field, PlainValidator, WithJsonSchema
from pydantic.config import JsonDict

from headgate.control.dilos import Mode
from headgate.control.registry import REDISTRIBUTIONS
from headgate.control.shedding import Chooses
from headgate.engine.pipeline.graphs import LatencyPoints
from headgate.engine.pipeline.spec import FilledSpec, ShortSpec
from headgate.engine.pipeline.values import Count, LongerTime, Switch
from headgate.engine.shedding import Shed
from headgate.engine.utility import Protect, protections
from headgate.fields import as_whole, choice, number
from headgate.shed.lsrm import Placement
from headgate.shed.registry import MANAGERS

_VALUES: JsonDict = {"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}}
_COLUMN: JsonDict = {"type": "object", "minProperties": 1, "maxProperties": 1, "additionalProperties": _VALUES}
_PROTECT: JsonDict = {"type": "object", "additionalProperties": _COLUMN}


def _protect(value: Protect) -> Protect:
    with as_whole():
        protections(value)
    return value


class ClassSpec(FilledSpec):
    """A class of queries: what it is worth against the others, and how long its results may take."""

    noun = "a class"
    example = "{priority: 6, delay_target: 500ms}"
    priority: Annotated[float, Field(gt=0), BeforeValidator(number(above=0, such_as=6))] = Field(
        1.0, description="How much the class matters; one of 6 gets six times the time of one of 1."
    )
    delay_target: LongerTime | None = Field(
        None, description="How long results may take; under overload tuples are dropped for it. Without it, none are."
    )
    qos: LatencyPoints | None = Field(
        None,
        description="The QoS graph of queries that have none; if not given, one that the delay target stands for.",
        examples=["[[0, 1], [500ms, 1], [2s, 0]]"],
    )
    keep_shed: Switch = Field(False, description="What is dropped is written to the folder shed of the state.")
    protect: Annotated[Protect, PlainValidator(_protect), WithJsonSchema(_PROTECT)] = Field(
        {},
        description="By stream, a column with values of it: tuples that have none of these are dropped first.",
        examples=["{ticks: {sym: [AAA, BBB]}}"],
    )


class ShedSpec(ShortSpec):
    """How load is managed when the machine cannot keep up."""

    noun = "'shed'"
    example = "{mode: dilos, manager: aloma}"
    main = "mode"
    mode: Annotated[
        Mode, BeforeValidator(choice("mode", get_args(Mode))), WithJsonSchema({"enum": list(get_args(Mode))})
    ] = Field(
        "dilos",
        description="none, one manager for all (common), one per class (separate), or dilos, also with sharing.",
    )
    manager: Annotated[
        str, BeforeValidator(choice("manager", MANAGERS)), WithJsonSchema({"enum": list(MANAGERS)})
    ] = Field("backlog", description="What decides how much is dropped.")
    period: LongerTime | None = Field(
        None, description="How often it decides; half of the shortest delay target if not given."
    )
    redistribution: Annotated[
        str,
        BeforeValidator(choice("redistribution", REDISTRIBUTIONS)),
        WithJsonSchema({"enum": list(REDISTRIBUTIONS)}),
    ] = Field("relative", description="dilos: who lends time to whom.")
    every: Count = Field(4, description="dilos: decisions from one redistribution to the next.")
    prompt: Switch = Field(True, description="dilos: a class gets its own share back before it sheds.")
    dropper: Annotated[
        Chooses,
        BeforeValidator(choice("dropper", get_args(Chooses))),
        WithJsonSchema({"enum": list(get_args(Chooses))}),
    ] = Field("random", description="Each tuple goes by chance, or exactly so many of every hundred do.")
    place: Annotated[
        Placement,
        BeforeValidator(choice("place", get_args(Placement))),
        WithJsonSchema({"enum": list(get_args(Placement))}),
    ] = Field(
        "even",
        description="Who loses first: all alike, or what saves the most work (lsrm), or what nobody rides with.",
    )

    def made(self) -> Shed:
        """As an engine takes it."""
        return Shed(
            self.mode,
            self.manager,
            period=self.period,
            redistribution=self.redistribution,
            every=self.every,
            prompt=self.prompt,
            dropper=self.dropper,
            place=self.place,
        )
