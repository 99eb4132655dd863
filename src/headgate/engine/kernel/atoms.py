"""Conditions as atoms: an operand that is compared with one constant. What has no such form is an atom as a whole.

A condition with OR is several lists of atoms, of which one has to hold in full.
"""

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from headgate.engine.kernel.ir import Call, Literal, Node, Parameter, walk
from headgate.engine.kernel.keys import fits, is_extreme
from headgate.engine.kernel.shapes import substituted
from headgate.engine.kernel.types import is_simple

_SIGNS = {
    "EqualTo": "=",
    "EqualNullSafe": "=",
    "LessThan": "<",
    "LessThanOrEqual": "<=",
    "GreaterThan": ">",
    "GreaterThanOrEqual": ">=",
}
_ALTERNATIVES = 64
"""A condition with more of them is not taken apart any further, unless it is all that has several: a list of IN."""
_LISTED = 4096
_CONJUNCTS, _EXCLUDED = 12, 8
"""So many conditions, and values of NOT IN, are atoms of their own."""


@dataclass(frozen=True, slots=True)
class Atom:
    """An operand and what it is compared with. The signs `null`, `not null` and `true` need no constant."""

    operand: Node
    sign: str
    constant: Literal | Parameter | None = None


Term = tuple[Atom, ...]


def terms(where: Iterable[Node]) -> list[Term]:
    """The lists of atoms of which one has to hold; none at all if nothing can be true."""
    nodes = list(where)
    found: list[Term] = [()]
    for each in nodes[:_CONJUNCTS]:
        alternatives = list(_alternatives(each))
        most = _LISTED if len(found) == 1 else _ALTERNATIVES
        if len(alternatives) > 1 and len(found) * len(alternatives) > most:
            alternatives = [(Atom(each, "true"),)]
        found = [(*one, *other) for one, other in itertools.product(found, alternatives)]
    if len(nodes) > _CONJUNCTS:
        rest = functools.reduce(lambda one, other: Call("And", (one, other), "boolean"), nodes[_CONJUNCTS:])
        found = [(*term, Atom(rest, "true")) for term in found]
    return found


def _alternatives(node: Node) -> Iterator[Term]:
    match node:
        case Literal(value=value):
            if value:
                yield ()
        case Call(op="Or", args=args):
            for arg in args:
                yield from _alternatives(arg)
        case Call(op="And", args=args):
            yield from terms(args)
        case Call(op="In", args=(value, *others)):
            # A constant that is there twice would find its rows twice.
            for other in dict.fromkeys(others):
                yield _conjunction(Call("EqualTo", (value, other), "boolean"))
        case _:
            yield _conjunction(node)


def _conjunction(node: Node) -> Term:
    match node:
        case Call(op="EqualNullSafe", args=(value, Literal(value=None))):
            return _conjunction(Call("IsNull", (value,), "boolean"))
        case Call(op=op, args=(value, constant)) if op in _SIGNS and _is_compared(value, constant):
            return (Atom(value, _SIGNS[op], constant),)  # type: ignore[arg-type]
        case Call(op="Not", args=(Call(op="EqualTo", args=(value, constant)),)) if _is_compared(value, constant):
            return (Atom(value, "<>", constant),)  # type: ignore[arg-type]
        case Call(op="Not", args=(Call(op="In", args=(value, *others)),)) if len(others) <= _EXCLUDED:
            equal = (Call("EqualTo", (value, other), "boolean") for other in others)
            return tuple(itertools.chain(*(_conjunction(Call("Not", (each,), "boolean")) for each in equal)))
        case Call(op="IsNull" | "IsNotNull" as op, args=(value,)) if is_simple(value.type) and fits(value.type):
            return (Atom(value, "null" if op == "IsNull" else "not null"),)
    return (Atom(node, "true"),)


def united(given: Sequence[Term]) -> list[int]:
    """A number for each term. Terms with the same one differ in the constants of one operand, and in nothing else."""
    best = list(range(len(given)))
    for operand in dict.fromkeys(atom.operand for term in given for atom in term):
        groups: dict[object, int] = {}
        found = [groups.setdefault(_without(operand, term), number) for number, term in enumerate(given)]
        if len(groups) < len(set(best)):
            best = found
    return best


def _without(operand: Node, term: Term) -> object:
    """What is left of a term without an operand; the term itself, if it has none or is no single range of it."""
    signs = [atom.sign for atom in term if atom.operand == operand]
    if not signs or ("<>" in signs and len(signs) > 1):
        return id(term)
    return tuple(id(atom) for atom in term if atom.operand != operand)


def _is_compared(value: Node, constant: Node) -> bool:
    if isinstance(value, Literal | Parameter) or not is_simple(value.type):
        return False
    if isinstance(constant, Literal):
        return not is_extreme(constant.type, constant.value)
    return isinstance(constant, Parameter)


def variants(where: tuple[Node, ...], constants: Sequence[pa.Array]) -> Iterator[tuple[list[Term], list[int] | None]]:
    """The terms of the queries of a shape, and which rows of its constants they are for; None for all.

    Queries differ in more than constants where these decide what is compared: the length of a prefix, for example.
    """
    tags = _tags(where, constants)
    if not tags:
        yield terms(where), None
        return
    rows: dict[tuple[object, ...], list[int]] = {}
    for row, tag in enumerate(zip(*tags.values(), strict=True)):
        rows.setdefault(tag, []).append(row)
    for tag, some in rows.items():
        given = dict(zip(tags, tag, strict=True))
        yield terms(_variant(node, given) for node in where), some


def _tags(where: tuple[Node, ...], constants: Sequence[pa.Array]) -> dict[int, list[object]]:
    """By parameter, for each query: the length of a word, a Literal that stands for the parameter, or None."""
    tags: dict[int, list[object]] = {}
    for node in where:
        match node:
            case Call(op="StartsWith" | "EndsWith", args=(_, Parameter(number=number))):
                words = constants[number].to_pylist()
                tags[number] = [Literal(None, "string") if word is None else len(word) for word in words]
    for atom in itertools.chain.from_iterable(terms(where)):
        for node in walk(atom.operand):
            if isinstance(node, Parameter) and node.number not in tags:
                tags[node.number] = [Literal(value, node.type) for value in constants[node.number].to_pylist()]
    for node in itertools.chain.from_iterable(map(walk, where)):
        match node:
            case Call(op=op, args=(_, *others)) if op in _SIGNS or op == "In":
                for other in others:
                    if isinstance(other, Parameter) and other.number not in tags:
                        tags.update(_rare(op, other, constants[other.number]))
    return tags


def _rare(op: str, parameter: Parameter, values: pa.Array) -> dict[int, list[object]]:
    """Constants that have no key of their own, or for which the comparison is another one."""
    if parameter.type != "bigint" and not (op == "EqualNullSafe" and values.null_count):
        return {}
    found: list[object] = [
        Literal(value, parameter.type)
        if is_extreme(parameter.type, value) or (value is None and op == "EqualNullSafe")
        else None
        for value in values.to_pylist()
    ]
    return {parameter.number: found} if any(found) else {}


def _variant(node: Node, given: dict[int, object]) -> Node:
    match node:
        case Call(op="StartsWith" | "EndsWith" as op, args=(value, Parameter() as word)):
            length = given[word.number]
            if length == 0:
                return Call("IsNotNull", (value,), "boolean")
            if isinstance(length, int):
                start = 1 if op == "StartsWith" else -length
                part = Call("Substring", (value, Literal(start, "int"), Literal(length, "int")), "string")
                return Call("EqualTo", (part, word), "boolean")

    def value_of(parameter: Parameter) -> Node:
        literal = given.get(parameter.number)
        return literal if isinstance(literal, Literal) else parameter

    return substituted(node, value_of)
