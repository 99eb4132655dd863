"""Broadcast-disk programs: a cyclic list in which each entry occurs as often as its frequency says, spread out.

A frequency is taken apart into its bits, and the bit of value 2^b has 2^b evenly spaced places among 2^B steps, where
B is the number of bits of the greatest frequency. The variants differ in which steps those are:

    ruler       at step t the bit that t's trailing zeros point to, so that a step serves one bit
    aligned     at step t every bit whose spacing divides t, the least first
    bitrev      at step t every entry whose frequency is above t with its bits reversed

The list is as long as the frequencies add up to. Frequencies are not divided by what they have in common: schedulers
move them by one, and that is to stay a small step.
"""

from collections.abc import Callable, Mapping, Sequence

from headgate.errors import InputError

LONGEST = 1000
"""What the frequencies of classes add up to at most, whatever the priorities."""

FINE = 100
"""What they add up to at least where weights are no whole numbers: one in a hundred can be told apart."""


def frequencies(weights: Sequence[float]) -> list[int]:
    """Whole numbers from 1 on in proportion to weights: the weights themselves where they are such numbers."""
    total = sum(weights)
    whole = [round(w) for w in weights]
    if total <= LONGEST and all(n >= 1 and abs(n - w) < 1e-9 for n, w in zip(whole, weights, strict=True)):
        return whole
    scale = min(max(total, FINE), LONGEST) / total
    return [max(1, round(w * scale)) for w in weights]


def program(frequency: Sequence[int], variant: str = "ruler") -> list[int]:
    """The places of the entries in a cyclic order, i as often as `frequency[i]` says; less than 1 counts as 1."""
    if variant not in VARIANTS:
        raise InputError("a known variant of programs", f"'{variant}'", f"Choose {', '.join(VARIANTS)}.")
    p = [max(1, n) for n in frequency]
    return VARIANTS[variant](p, max(p).bit_length()) if p else []


def _with_bit(p: Sequence[int], b: int) -> list[int]:
    return [i for i, n in enumerate(p) if n >> b & 1]


def _ruler(p: Sequence[int], B: int) -> list[int]:
    found: list[int] = []
    with_bit = [_with_bit(p, b) for b in range(B)]
    for t in range(1, 1 << B):
        zeros = (t & -t).bit_length() - 1
        found += with_bit[B - 1 - zeros]
    return found


def _aligned(p: Sequence[int], B: int) -> list[int]:
    found: list[int] = []
    with_bit = [_with_bit(p, b) for b in range(B)]
    for t in range(1 << B):
        for b in range(B):
            if t % (1 << (B - b)) == 0:
                found += with_bit[b]
    return found


def _bitrev(p: Sequence[int], B: int) -> list[int]:
    found: list[int] = []
    for t in range(1 << B):
        backwards = int(f"{t:0{B}b}"[::-1], 2)
        found += [i for i, n in enumerate(p) if backwards < n]
    return found


VARIANTS: Mapping[str, Callable[[Sequence[int], int], list[int]]] = {
    "ruler": _ruler,
    "aligned": _aligned,
    "bitrev": _bitrev,
}
