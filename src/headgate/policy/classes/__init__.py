"""Class schedulers: policies over classes of queries, one file per scheduler, one protocol, a registry by name."""

from headgate.policy.classes.registry import SCHEDULERS, create, default
from headgate.policy.classes.scheduler import ClassScheduler

__all__ = ["SCHEDULERS", "ClassScheduler", "create", "default"]
