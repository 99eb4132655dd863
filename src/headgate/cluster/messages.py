"""What coordinator and nodes say to each other: JSON over HTTP, with a token that all of them share."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter, ValidationError

from headgate.cluster.instances import How, Report, Serial, Told, Wanted
from headgate.errors import InputError

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Answer:
    serial: Serial
    version: str
    wanted: Wanted


_reports, _wanted, _answers, _told = TypeAdapter(Report), TypeAdapter(Wanted), TypeAdapter(_Answer), TypeAdapter(Told)


@dataclass(frozen=True, slots=True)
class _Move:
    query: str
    to: str
    how: How = "unimico"


@dataclass(frozen=True, slots=True)
class _Leave:
    node: str
    life: str
    why: str


@dataclass(frozen=True, slots=True)
class _Drain:
    node: str


_moves, _leaves, _drains = TypeAdapter(_Move), TypeAdapter(_Leave), TypeAdapter(_Drain)


def written(message: Report | Wanted) -> dict[str, Any]:
    """For JSON."""
    return asdict(message)


def report(text: bytes) -> Report:
    """A report of a node, from JSON."""
    try:
        return _reports.validate_json(text)
    except ValidationError as error:
        raise InputError("a report is one of a node's", _first(error), "Use the same version on all nodes.") from None


def move(text: bytes) -> tuple[str, str, How]:
    """A query, the node that it should move to, and how, from JSON."""
    try:
        found = _moves.validate_json(text)
    except ValidationError as error:
        raise InputError("a move names a query and a node", _first(error), 'Send {"query": …, "to": …}.') from None
    return found.query, found.to, found.how


def leave(text: bytes) -> tuple[str, str, str]:
    """A node that has stopped, which of its lives that was, and why, from JSON."""
    try:
        found = _leaves.validate_json(text)
    except ValidationError as error:
        raise InputError("who leaves is a node", _first(error), 'Send {"node": …, "life": …}.') from None
    return found.node, found.life, found.why


def drain(text: bytes) -> str:
    """A node that is to give its queries away, from JSON."""
    try:
        return _drains.validate_json(text).node
    except ValidationError as error:
        raise InputError("who is drained is a node", _first(error), 'Send {"node": …}.') from None


def wanted(document: object) -> Wanted:
    """What a node should do, from JSON."""
    return _of(_wanted, document)


def answer(document: object) -> tuple[Serial, str, Wanted]:
    """When something was said, in which version, and what is wanted, from JSON."""
    found = _of(_answers, document)
    return found.serial, found.version, found.wanted


def told(document: object) -> Mapping[str, Any]:
    """How everything is, as it stands in JSON."""
    _of(_told, document)
    return cast("Mapping[str, Any]", document)


def _of(kind: TypeAdapter[_T], document: object) -> _T:
    try:
        return kind.validate_python(document)
    except ValidationError as error:
        remedy = "Check the address, and use the same version on the coordinator and on all nodes."
        raise InputError("an answer is one of a coordinator's", _first(error), remedy) from None


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"
