"""QoS graphs, as a pipeline file gives them: by their points."""

from collections.abc import Callable, Sequence
from typing import Annotated

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from headgate.engine.pipeline.values import Time
from headgate.fields import as_whole, number
from headgate.model.qos import LatencyGraph, LossGraph

Points = list[tuple[float, float]]
Utility = Annotated[float, Field(ge=0), BeforeValidator(number(least=0, such_as=1))]
Share = Annotated[
    float,
    BeforeValidator(number(least=0, such_as=0.5)),
    WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1}),
]


def _draws(
    graph: Callable[[tuple[tuple[float, float], ...]], object],
) -> Callable[[Sequence[tuple[float, float]]], Points]:
    def check(points: Sequence[tuple[float, float]]) -> Points:
        with as_whole():
            graph(tuple(points))
        return list(points)

    return check


LatencyPoints = Annotated[list[tuple[Time, Utility]], Field(min_length=1), AfterValidator(_draws(LatencyGraph))]
LossPoints = Annotated[list[tuple[Share, Utility]], Field(min_length=1), AfterValidator(_draws(LossGraph))]
