"""How a planned query is run over the log: train by train, by panes, window by window, by session or iteration."""

from headgate.engine.evaluation.by_iteration import IterationEvaluation
from headgate.engine.evaluation.by_panes import PaneEvaluation
from headgate.engine.evaluation.by_session import SessionEvaluation
from headgate.engine.evaluation.per_train import TrainEvaluation
from headgate.engine.evaluation.per_window import WindowEvaluation
from headgate.engine.evaluation.protocol import Evaluation, Setting, Step
from headgate.engine.sql.plan import ByPanes, PerTrain, PerWindow, Plan

__all__ = ["Evaluation", "Setting", "Step", "evaluation"]


def evaluation(plan: Plan, setting: Setting, *, iterations: bool = False) -> Evaluation:
    """The way to run a plan; each window is an iteration where results are due by a deadline."""
    if iterations and isinstance(plan, ByPanes | PerWindow):
        return IterationEvaluation(plan, setting)
    if isinstance(plan, PerTrain):
        return TrainEvaluation(plan, setting)
    if isinstance(plan, ByPanes):
        return PaneEvaluation(plan, setting)
    if isinstance(plan, PerWindow):
        return WindowEvaluation(plan, setting)
    return SessionEvaluation(plan, setting)
