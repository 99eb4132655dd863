"""Keeping time and load: what is looked after when a period ends, between two decisions."""

import logging
import sqlite3

from headgate.engine.iterations import DeadlineUnit
from headgate.engine.live_plan import LivePlan
from headgate.engine.log.manifest import Manifest
from headgate.engine.policies import Policies
from headgate.engine.running import message
from headgate.engine.shedding import Shedding
from headgate.engine.timekeeper import Timekeeper
from headgate.record import Managed, Reason, Recorder

_AGAIN = 1.0
"""Seconds until deadlines are planned for again after that has failed."""

_log = logging.getLogger(__name__)


def keep_time(keeper: Timekeeper, plan: LivePlan, now: float, blocked: float | None) -> None:
    """Look after deadlines; other queries may be in the way for so many seconds."""
    due = [unit for unit in plan.units if isinstance(unit, DeadlineUnit)]
    try:
        keeper.look(due, now, blocked)
    except Exception as error:  # noqa: BLE001 - without the scheduler's thread nothing would run any more
        keeper.next = now + _AGAIN
        _log.warning("deadlines go by the last plan: %s", message(error))


def keep_load(
    shedding: Shedding, plan: LivePlan, policies: Policies | None, manifest: Manifest, recorder: Recorder, now: float
) -> None:
    """End a control period: what is dropped from now on, and what share of the time a class has."""
    costs = {unit.entry.operator: unit.cost for unit in plan.models}
    others = [unit for unit in plan.units if not isinstance(unit, DeadlineUnit)]
    try:
        found = shedding.cycle(others, lambda unit: costs.get(unit.name), now, manifest)
    except sqlite3.Error as error:
        _log.warning("drop rates stay as they are: %s", message(error))
        return
    if found.changed and policies:
        policies.share(found.shares)
    orders = {name: Reason(order.why.formula, order.why.terms) for name, order in found.orders.items()}
    why = Reason(found.why.formula, found.why.terms)
    recorder.append(Managed(now, found.drops, found.shares, found.usage, orders, why))
