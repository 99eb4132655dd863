"""Which columns of a stream a query can see: the reader sends no others."""

from collections.abc import Collection

import sqlglot
from sqlglot import exp


def used(sql: str, columns: Collection[str]) -> frozenset[str]:
    """Those of the columns whose name occurs in the text at all; all of them where a star may stand for them."""
    tree = sqlglot.parse_one(sql, dialect="spark")
    if any(not isinstance(star.parent, exp.Count) for star in tree.find_all(exp.Star)):
        return frozenset(columns)
    if any(join.args.get("method") == "NATURAL" for join in tree.find_all(exp.Join)):
        return frozenset(columns)
    words = {identifier.name.lower() for identifier in tree.find_all(exp.Identifier)}
    return frozenset(column for column in columns if column.lower() in words)
