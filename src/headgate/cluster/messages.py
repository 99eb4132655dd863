"""What coordinator and nodes say to each other: JSON over HTTP, with a token that all of them share."""

from dataclasses import asdict, dataclass
from typing import Any

from pydantic import TypeAdapter, ValidationError

from headgate.cluster.placement import How, Report, Wanted
from headgate.errors import InputError

_reports = TypeAdapter(Report)
_wanted = TypeAdapter(Wanted)


@dataclass(frozen=True, slots=True)
class _Move:
    query: str
    to: str
    how: How = "unimico"


_moves = TypeAdapter(_Move)


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


def wanted(document: object) -> Wanted:
    """What a node should do, from JSON."""
    try:
        return _wanted.validate_python(document)
    except ValidationError as error:
        remedy = "Use the same version on the coordinator and on all nodes."
        raise InputError("an answer is one of a coordinator's", _first(error), remedy) from None


def _first(error: ValidationError) -> str:
    found = error.errors()[0]
    return f"{'.'.join(map(str, found['loc']))}: {found['msg']}"
