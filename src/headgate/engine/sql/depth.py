"""Room for formulas: their trees are as deep as they are long, and are walked by recursion."""

import sys

_DEEP = 4000
"""Calls within each other, some twenty for each level of a formula. Spark's own parser gives up soon after that."""


def make_room() -> None:
    """Let formulas be a hundred levels deep, whoever asks: in a notebook, calls are nested deeply already."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEEP))
