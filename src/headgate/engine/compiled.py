"""Queries as the kernel runs them, and why some are not."""

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from headgate.engine.evaluation import Evaluation
from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.evaluation.by_panes import PaneEvaluation
from headgate.engine.evaluation.per_train import TrainEvaluation
from headgate.engine.kernel.ir import Literal, Segment
from headgate.engine.kernel.program import Add, Program
from headgate.engine.kernel.shapes import shape_of
from headgate.engine.kernel.types import arrow
from headgate.engine.sql.catalyst import NotFusableError, segment
from headgate.engine.sql.plan import BySession, PerWindow
from headgate.engine.windows import Window


@dataclass(frozen=True, slots=True)
class Compiled:
    """What the kernel does with a train for one query: a shape and its constants.

    Of a window aggregate that is the part over each train; `final` puts the panes of a closing window together.
    """

    shape: Segment
    constants: tuple[Literal, ...]
    window: Window | None = None
    final: Segment | None = None

    @property
    def tables(self) -> frozenset[str]:
        """The reference tables that it looks up."""
        looked_up = (*self.shape.lookups, *(self.final.lookups if self.final else ()))
        return frozenset(each.table for each in looked_up)


def compiled(evaluation: Evaluation) -> Compiled:
    """The query of an evaluation for the kernel; raises NotFusableError, with the reason."""
    match evaluation:
        case TrainEvaluation():
            if evaluation.plan.stamped is None:
                raise NotFusableError("its results do not come from one tuple each")
            shape, constants = shape_of(segment(evaluation.prepared.frame))
            return Compiled(shape, constants)
        case PaneEvaluation():
            shape, constants = shape_of(segment(evaluation.partial.frame))
            return Compiled(shape, constants, evaluation.plan.window, _final(evaluation))
        case IterationEvaluation():
            raise NotFusableError("its windows have a deadline, and each is run for itself")
    plan = evaluation.plan  # type: ignore[attr-defined]
    if isinstance(plan, PerWindow):
        raise NotFusableError(f"it is evaluated window by window: {plan.why}")
    if isinstance(plan, BySession):
        raise NotFusableError("it is evaluated by session")
    raise NotFusableError("it is evaluated by Spark alone")


def _final(evaluation: PaneEvaluation) -> Segment:
    try:
        return segment(evaluation.final.frame)
    except NotFusableError as reason:
        # The reason is about a text of ours, which nobody has written.
        msg = f"only Spark can put its panes together ({reason})"
        raise NotFusableError(msg) from None


def added(shape: Segment, numbers: Sequence[int], constants: Sequence[tuple[Literal, ...]]) -> Add:
    """The change that adds queries of one shape to a program."""
    columns = zip(*constants, strict=True) if constants and constants[0] else ()
    return Add(shape, tuple(numbers), tuple(_array(column) for column in columns))


def alone(segment: Segment, tables: dict[str, str]) -> Program:
    """A program of one query as it is."""
    shape, constants = shape_of(segment)
    return Program(segment.source, tables, [added(shape, [0], [constants])])


def _array(values: Sequence[Literal]) -> pa.Array:
    return pa.array([each.value for each in values], arrow(values[0].type))
