"""The garbage collector, kept out of the way: with very many queries, a pass of it takes longer than many trains."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def uncollected() -> Iterator[None]:
    """Collect nothing for a while: what is made now stays."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def settle() -> None:
    """Do not look any more through what is there now, until `unsettle`."""
    gc.collect()
    gc.freeze()


def unsettle() -> None:
    """Look through everything again."""
    gc.unfreeze()
