"""What if, asked on a page: `headgate whatif` in a process of its own, so that the engine does not wait for it."""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headgate.errors import InputError

OPTIONS = ("policy", "shed", "rate", "lanes")
"""What may be asked for, by the names that the command has for it."""
_PATIENCE = 120.0
_MEEK = 10
"""How much the process lets others go first."""


class Oracle:
    """Predicts the run in a state folder, one question at a time."""

    def __init__(self, state: Path) -> None:
        self._state, self._busy = state, False

    async def predict(self, asked: Mapping[str, str]) -> dict[str, Any]:
        """The prediction as the command prints it; what it complains about is an error here too."""
        if self._busy:
            raise InputError("one prediction is made at a time", "another one", "Ask again when it is there.")
        self._busy = True
        try:
            return await self._told(asked)
        finally:
            self._busy = False

    async def _told(self, asked: Mapping[str, str]) -> dict[str, Any]:
        options = [f"--{name}={asked[name]}" for name in OPTIONS if asked.get(name)]
        command = [sys.executable, "-m", "headgate", "whatif", str(self._state), "--json", *options]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe)
        os.setpriority(os.PRIO_PROCESS, process.pid, _MEEK)
        try:
            out, err = await asyncio.wait_for(process.communicate(), _PATIENCE)
        except TimeoutError:
            process.kill()
            await process.wait()
            remedy = f"Ask in a terminal: headgate whatif {self._state}."
            raise InputError(f"a prediction takes {_PATIENCE:.0f} s at most", "a longer one", remedy) from None
        if process.returncode:
            said = err.decode(errors="replace").strip().removeprefix("error: ")
            raise InputError("a run can be predicted", said or "no answer", "See headgate whatif --help.")
        found: dict[str, Any] = json.loads(out)
        return found
