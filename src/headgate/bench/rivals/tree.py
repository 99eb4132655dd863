"""The processor time and memory of a process and of all that it has started."""

import os
from dataclasses import dataclass
from pathlib import Path

_TICK = os.sysconf("SC_CLK_TCK")
_PAGE = os.sysconf("SC_PAGE_SIZE")
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Used:
    """Seconds of the processor so far, ended children included, and bytes that are resident now."""

    cpu: float
    memory: int


def used(root: int, apart: int | None = None) -> Used | None:
    """What the tree of a process has used, but for one that stands `apart`; None where the system does not say."""
    if not _PROC.is_dir():
        return None
    processes: dict[int, tuple[int, float, int]] = {}
    for folder in _PROC.iterdir():
        if folder.name.isdigit():
            try:
                # The name, in parentheses, may contain anything.
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            ticks = sum(int(each) for each in fields[11:15])
            processes[int(folder.name)] = int(fields[1]), ticks / _TICK, int(fields[21]) * _PAGE
    tree = {root}
    for _ in processes:
        more = {pid for pid, (parent, _, _) in processes.items() if parent in tree and pid != apart} - tree
        if not more:
            break
        tree |= more
    found = [processes[pid] for pid in tree if pid in processes]
    return Used(sum(cpu for _, cpu, _ in found), sum(memory for _, _, memory in found))
