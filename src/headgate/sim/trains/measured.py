"""A network as it has been measured: the selectivities that its operators have shown of late."""

from collections.abc import Mapping
from dataclasses import replace

from headgate.model.network import Network
from headgate.model.operator import Kind
from headgate.sim.trains.tasks import Task

LEAST_SAMPLE = 200
"""Tuples that an operator has read since its selectivity was measured, before it is measured again."""

_LEAST = 1e-6
_VARIES = {Kind.SELECT, Kind.MAP, Kind.JOIN, Kind.AGGREGATE}


class Measured:
    """Selectivities since the last look, of operators that can have one other than 1."""

    def __init__(self, network: Network, tasks: Mapping[str, Task]) -> None:
        self._network = network
        self._tasks = {name: task for name, task in tasks.items() if network.by_name[name].kind in _VARIES}
        self._before = dict.fromkeys(self._tasks, (0, 0))
        self._found: dict[str, float] = {}

    def network(self) -> Network | None:
        """The network with what was measured so far; None if nothing is new."""
        fresh = {}
        for name, task in self._tasks.items():
            read, made = self._before[name]
            if task.read - read >= LEAST_SAMPLE:
                fresh[name] = max(_LEAST, (task.made - made) / (task.read - read))
                self._before[name] = (task.read, task.made)
        if not fresh:
            return None
        self._found |= fresh
        return Network(
            tuple(
                replace(op, selectivity=self._found.get(op.name, op.selectivity)) for op in self._network.operators
            ),
            self._network.queries,
        )
