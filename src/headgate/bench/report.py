"""What a benchmark yields: rows of measurements, and checks against goals."""

import os
import platform
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


def machine() -> dict[str, Any]:
    """What the numbers depend on."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), "system": platform.system()}


@dataclass(frozen=True, slots=True)
class Check:
    """A measured value against its goal; `ok` is None where this machine cannot tell."""

    what: str
    value: float
    goal: str
    ok: bool | None


@dataclass(frozen=True, slots=True)
class Report:
    """A benchmark's outcome on the machine it ran on."""

    name: str
    rows: tuple[dict[str, Any], ...]
    checks: tuple[Check, ...]
    machine: dict[str, Any] = field(default_factory=machine)

    def as_json(self) -> dict[str, Any]:
        """The report as `headgate bench --json` prints it."""
        checks = [{"what": c.what, "value": c.value, "goal": c.goal, "ok": c.ok} for c in self.checks]
        return {"name": self.name, "machine": self.machine, "rows": list(self.rows), "checks": checks}


def at_least(what: str, value: float, goal: float, unit: str = "") -> Check:
    """A check that a value reaches a goal."""
    return Check(what, value, f"≥ {goal:g}{unit}", value >= goal)


def at_most(what: str, value: float, goal: float, unit: str = "") -> Check:
    """A check that a value stays below a goal."""
    return Check(what, value, f"≤ {goal:g}{unit}", value <= goal)
