"""How many lanes an engine has, and of which kind."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from headgate.errors import InputError

Lanes: TypeAlias = int | str | Mapping[str, int]
"""`auto`, `jobs` (no resident lanes), a number for each kind, or the numbers of both: {"jobs": 1, "resident": 2}."""

_FORMS = "Write auto, jobs, a number such as 1, or {jobs: 1, resident: 1}."


@dataclass(frozen=True, slots=True)
class Capacity:
    """Lanes of each kind."""

    jobs: int
    resident: int

    @classmethod
    def of(cls, lanes: Lanes, slots: int) -> "Capacity":
        """What is asked for, on a Spark with so many slots for tasks. A resident lane takes one for good."""
        match lanes:
            case "auto":
                # A quarter of a cluster for each kind, and the rest for jobs of more tasks than one.
                some = max(1, slots // 4)
                return cls(some, min(some, slots - 1))
            case "jobs":
                return cls(1, 0)
            case bool():
                pass
            case int() if lanes > 0:
                return cls(lanes, min(lanes, slots - 1))
            case Mapping() if set(lanes) <= {"jobs", "resident"}:
                found = cls(lanes.get("jobs", 1), lanes.get("resident", 0))
                if found.jobs > 0 <= found.resident:
                    return found._checked(slots)
        raise InputError("an engine has a job lane or more", lanes, _FORMS)

    def _checked(self, slots: int) -> "Capacity":
        if self.resident >= slots:
            rule = "resident lanes leave a slot of Spark's for jobs"
            got = f"{self.resident} resident lanes on {slots} slots"
            raise InputError(rule, got, f"Ask for {slots - 1} at most, or start Spark with more: local[{slots + 2}].")
        return self
