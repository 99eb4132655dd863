"""What if and why, asked on a page: the commands in a process of their own, so that the engine waits for neither."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, get_args

from headgate.control.dilos import Mode
from headgate.errors import InputError
from headgate.policy.classes.registry import SCHEDULERS
from headgate.policy.registry import POLICIES
from headgate.shed.registry import MANAGERS

_OPTIONS = {"whatif": ("policy", "shed", "rate", "lanes"), "explain": ("at", "tuple", "query")}
"""What may be asked for, by the names that the commands have for it."""
CHOICES: Mapping[str, Sequence[str]] = {
    "policy": list(dict.fromkeys((*POLICIES, *SCHEDULERS))),
    "shed": ["none", *(f"{mode}:{each}" for mode in get_args(Mode)[1:] for each in MANAGERS if each != "none")],
}
"""What may be chosen by name."""
_PATIENCE = 120.0
_MEEK = 10
"""How much the process lets others go first."""


class Oracle:
    """Predicts and explains the run in a state folder, one question at a time."""

    def __init__(self, state: Path) -> None:
        self._state, self._busy = state, False

    async def predict(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The prediction that `headgate whatif` makes; what it complains about is an error here too."""
        with TemporaryDirectory() as folder:
            more = _more(asked, Path(folder))
            found: dict[str, Any] = json.loads(await self._asked("whatif", asked, "--json", *more))
        return found

    async def explain(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """What `headgate explain` says, in its own words."""
        return {"text": await self._asked("explain", asked)}

    async def _asked(self, command: str, asked: Mapping[str, str], *more: str) -> str:
        if self._busy:
            raise InputError(
                "one question is answered at a time", "another one", "Ask again when the answer is there."
            )
        self._busy = True
        try:
            return await self._said(command, asked, *more)
        finally:
            self._busy = False

    async def _said(self, command: str, asked: Mapping[str, str], *more: str) -> str:
        options = [f"--{name}={asked[name]}" for name in _OPTIONS[command] if asked.get(name)]
        line = [sys.executable, "-m", "headgate", command, str(self._state), *more, *options]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*line, stdout=pipe, stderr=pipe)
        os.setpriority(os.PRIO_PROCESS, process.pid, _MEEK)
        try:
            out, err = await asyncio.wait_for(process.communicate(), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()
            remedy = f"Ask in a terminal: headgate {command} {self._state}."
            raise InputError(f"an answer takes {_PATIENCE:.0f} s at most", "a longer one", remedy) from None
        if process.returncode:
            said = err.decode(errors="replace").strip().removeprefix("error: ")
            raise InputError("a run can answer that", said or "no answer", f"See headgate {command} --help.")
        return out.decode(errors="replace")


def _more(asked: Mapping[str, str], folder: Path) -> list[str]:
    """The option of a query more, which the command reads from a file."""
    query = {key: asked[key] for key in ("like", "class") if asked.get(key)}
    name = asked.get("name")
    if not name:
        if query:
            raise InputError("a query more has a name", "none", "Name it as no other query is.")
        return []
    file = folder / "more.yaml"
    # Any JSON is YAML too.
    file.write_text(json.dumps({"queries": {name: query}}))
    return [f"--add-query={file}"]
