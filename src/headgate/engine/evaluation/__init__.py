"""How a planned query is run over the log: train by train, by panes, window by window, or by session."""

from headgate.engine.evaluation.by_panes import PaneEvaluation
from headgate.engine.evaluation.by_session import SessionEvaluation
from headgate.engine.evaluation.per_train import TrainEvaluation
from headgate.engine.evaluation.per_window import WindowEvaluation
from headgate.engine.evaluation.protocol import Evaluation, Setting, Step
from headgate.engine.sql.plan import ByPanes, PerTrain, PerWindow, Plan

__all__ = ["Evaluation", "Setting", "Step", "evaluation"]


def evaluation(plan: Plan, setting: Setting) -> Evaluation:
    """The way to run a plan."""
    if isinstance(plan, PerTrain):
        return TrainEvaluation(plan, setting)
    if isinstance(plan, ByPanes):
        return PaneEvaluation(plan, setting)
    if isinstance(plan, PerWindow):
        return WindowEvaluation(plan, setting)
    return SessionEvaluation(plan, setting)
