"""Who runs next: one file per policy, one protocol, a registry by name."""

from headgate.policy.protocol import Decision, Outcome, Policy, Queue, Run, View, Why, Work
from headgate.policy.registry import POLICIES, create

__all__ = ["POLICIES", "Decision", "Outcome", "Policy", "Queue", "Run", "View", "Why", "Work", "create"]
