"""The kernels that a Python worker has, by program; and how a program runs over the tuples that a job names."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.program import Answer, Change
from headgate.engine.reader import PANES, panes, tuples


class Kernels:
    """Kernels with the changes that they have applied."""

    def __init__(self) -> None:
        self._kernels: dict[str, Kernel] = {}
        self._applied: dict[str, int] = {}

    def applied(self, program: str) -> int:
        """How many changes of a program are known."""
        return self._applied.get(program, 0)

    def apply(self, program: str, tables: Mapping[str, str], changes: Sequence[Change]) -> None:
        """Apply more changes of a program; if one fails, the program is forgotten."""
        kernel = self._kernels.get(program) or Kernel(tables)
        kernel.use(tables)
        known = self.applied(program)
        self.forget(program)
        for change in changes:
            kernel.apply(change)
        self._kernels[program], self._applied[program] = kernel, known + len(changes)

    def forget(self, program: str) -> None:
        """Free what a program has."""
        self._kernels.pop(program, None)
        self._applied.pop(program, None)

    def keep(self, most: int) -> None:
        """Forget what has not had changes for longest."""
        for program in list(self._kernels)[:-most]:
            self.forget(program)

    def run(self, program: str, source: str, named: dict[str, Any]) -> Answer:
        """Read the tuples that a JobInput names, and run them through the program."""
        kernel = self._kernels[program]
        of_panes = source == PANES
        found = list(panes(named, kernel.columns) if of_panes else tuples(named, source, kernel.columns))
        return kernel.run(pa.concat_tables(found)) if found else Answer(())
