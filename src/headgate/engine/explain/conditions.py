"""How the kernel finds the queries that want a tuple: by an index on some of their conditions, then by the others.

Before a stream has run, conditions are ordered by what such conditions usually let through.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headgate.engine.compiled import Compiled, added
from headgate.engine.explain.written import tables, text
from headgate.engine.kernel.batch import Formulas
from headgate.engine.kernel.ir import Literal, Lookup, Segment
from headgate.engine.kernel.matcher import Matcher, Seen

_FORMS = {
    "=": "{} = ?",
    "<>": "{} <> ?",
    ">": "{} > ?",
    "<": "{} < ?",
    "range": "? < {} < ?",
    "null": "{} IS NULL",
    "not null": "{} IS NOT NULL",
    "true": "{}",
}
"""Whether a bound is itself let through makes no difference to an index."""


@dataclass(frozen=True, slots=True)
class Condition:
    """Conditions of so many queries that have the same form; a query with OR is among several.

    Those in `index` find the queries that may want a tuple, and the others are `tested` for these queries alone, in
    this order; or on every tuple, where an index would not pay.
    """

    index: tuple[str, ...]
    tested: tuple[str, ...]
    queries: int


def conditions(members: Sequence[Compiled]) -> tuple[Condition, ...]:
    """The conditions of a unit's queries, those of most queries first."""
    prefixes: dict[tuple[Lookup, ...], dict[Segment, list[tuple[Literal, ...]]]] = {}
    for compiled in members:
        alike = prefixes.setdefault(compiled.shape.lookups, {})
        alike.setdefault(compiled.shape, []).append(compiled.constants)
    found = [each for prefix, shapes in prefixes.items() for each in _behind(prefix, shapes)]
    return tuple(sorted(found, key=lambda each: -each.queries))


def _behind(prefix: tuple[Lookup, ...], shapes: dict[Segment, list[tuple[Literal, ...]]]) -> list[Condition]:
    matcher = Matcher(Formulas())
    count = 0
    for shape, constants in shapes.items():
        numbers = np.arange(count, count := count + len(constants))
        matcher.add(shape.where, added(shape, numbers.tolist(), constants).constants, numbers)
    names = tables(prefix)

    def texts(atoms: Sequence[Seen], *, indexed: bool) -> tuple[str, ...]:
        chosen = [atom for atom in atoms if (atom.role == "index") == indexed]
        return tuple(_FORMS[atom.sign].format(text(atom.operand, names)) for atom in chosen)

    return [
        Condition(texts(atoms, indexed=True), texts(atoms, indexed=False), queries)
        for atoms, queries in matcher.seen()
        if atoms
    ]
