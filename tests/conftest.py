"""For the whole suite: the same Hypothesis examples in every run, and no compiled code that is out of date."""

from contextlib import suppress
from pathlib import Path

from hypothesis import settings

settings.register_profile("headgate", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("headgate")

LONGEST = ("engine/crash/", "engine/results/", "engine/cluster/", "tests/cluster/test_live")

PACKAGE = Path(__file__).parents[1] / "src" / "headgate"


def pytest_configure(config):
    """Drop compiled kernels that are older than the sources.

    numba looks at the file of a kernel alone, not at the files whose functions were compiled into it.
    """
    if hasattr(config, "workerinput"):
        return
    newest = max(path.stat().st_mtime for path in PACKAGE.rglob("*.py"))
    for path in PACKAGE.rglob("*.nb[ic]"):
        # Another run may be at it.
        with suppress(FileNotFoundError):
            if path.stat().st_mtime < newest:
                path.unlink()


def pytest_collection_modifyitems(items):
    """What takes longest first: at the end, one process would still be at it while the other has nothing to do."""
    items.sort(key=lambda item: not any(part in item.nodeid for part in LONGEST))
