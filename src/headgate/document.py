"""YAML files whose mistakes can be reported where they stand: file, line and column.

The scalars are those of YAML 1.2, so that `on`, `no` and `1:30` are text and `1e-3` is a number; keys are always
text. What PyYAML would let pass is refused: keys that stand twice, tags, and anchors that contain themselves.
"""

import math
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, TypeVar

import yaml
from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from headgate.errors import InputError

Loc: TypeAlias = tuple[str | int, ...]
"""The way from the top of a document to one of its nodes: keys and, in lists, numbers from 0."""

_MOST_NODES = 300_000
_PREFIX = "tag:yaml.org,2002:"
_SCALARS = {
    "null": (re.compile(r"~|null|Null|NULL|"), "~nN"),
    "bool": (re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    "int": (re.compile(r"[-+]?[0-9][0-9_]*"), "-+0123456789"),
    "float": (
        re.compile(r"[-+]?(\.[0-9]+|[0-9][0-9_]*(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"),
        "-+0123456789.",
    ),
}

Model = TypeVar("Model", bound=BaseModel)


@dataclass(frozen=True)
class Document:
    """The content of a YAML file, and where each of its keys and values stands."""

    path: Path
    data: object
    keys: Mapping[Loc, str]
    values: Mapping[Loc, str]

    def place(self, loc: Loc, *, key: bool = False) -> str:
        """`file:line:column` of a value or of its key; of what is around it, where that is not in the file."""
        found = self._nearest(loc)
        marks = self.keys if key and found in self.keys else self.values
        return f"{self.path}:{marks[found]}"

    @contextmanager
    def at(self, *loc: str | int) -> Iterator[None]:
        """Gives the mistakes made inside the place of `loc`, or of the key under it that they mention."""
        try:
            yield
        except InputError as error:
            raise error.at(self.place(self._mentioned(loc, error.rule))) from None

    def check(self, model: type[Model]) -> Model:
        """The content as a model; the first mistake as an InputError, with the number of the others."""
        try:
            return model.model_validate(self.data)
        except ValidationError as error:
            found = error.errors(include_url=False)
        # Entries that are wrong do not count for pydantic, which then also finds the list too short.
        mistakes = [
            self._mistake(details) for details in found if details["type"] != "too_short" or not details["input"]
        ]
        mistakes.sort(key=lambda m: [int(n) for n in (m.place or "").rsplit(":", 2)[1:]])
        first, others = mistakes[0], len(mistakes) - 1
        more = f" (and {others} more {'mistake' if others == 1 else 'mistakes'})" if others else ""
        raise InputError(first.rule, first.got, first.remedy + more, first.place)

    def _mistake(self, details: ErrorDetails) -> InputError:
        loc = self._nearest(details["loc"])
        context = details.get("ctx", {})
        if details["type"] == "whole":
            key = context["key"]
            loc = (*loc, key) if key else self._mentioned(loc, context["rule"]) if context["mentions"] else loc
            place = self.place(loc, key=context["at_key"])
            return InputError(context["rule"], context["got"], context["remedy"], place)
        of_key = details["loc"][-1:] == ("[key]",)
        subject = "this key" if of_key else _subject(loc)
        place = self.place(loc, key=of_key)
        if details["type"] == "field":
            return InputError(f"{subject} {context['rule']}", context["got"], context["remedy"], place)
        rule, remedy = _BUILT_IN.get(details["type"], (details["msg"], "Compare it with the examples."))
        return InputError(f"{subject} {rule}", shown(details["input"]), remedy, place)

    def _nearest(self, loc: Loc) -> Loc:
        """The part of a way that is in the file; pydantic adds names of its own, such as the kind in a union."""
        found: Loc = ()
        for step in loc:
            if (*found, step) in self.values:
                found = (*found, step)
        return found

    def _mentioned(self, loc: Loc, rule: str) -> Loc:
        """The entry under `loc` whose key a rule mentions, else `loc`."""
        for way in self.values:
            if len(way) == len(loc) + 1 and way[:-1] == loc and isinstance(way[-1], str):
                word = re.escape(way[-1].removesuffix("s"))
                if re.search(rf"\b{word}s?\b", rule):
                    return way
        return loc


_BUILT_IN = {
    "dict_type": ("holds entries, each with a name", "Write one `name: value` per line below it, indented."),
    "list_type": ("is a list", "Write it as [a, b], or one entry per line, each after a dash."),
    "tuple_type": ("is a list", "Write it as [a, b], or one entry per line, each after a dash."),
    "too_short": ("has at least one entry", "Add one."),
    "missing": ("is a pair", "Write it as [a, b]."),
    "too_long": ("is a pair", "Write it as [a, b]."),
}


def shown(value: object) -> str:
    """A value of a file as a message shows it."""
    match value:
        case None:
            return "nothing"
        case bool():
            return str(value).lower()
        case str():
            return f"'{value}'"
        case Mapping():
            return "the keys " + ", ".join(map(str, value)) if value else "no keys"
        case list():
            return f"[{', '.join(map(shown, value))}]" if len(value) <= 8 else f"a list of {len(value)}"
    return str(value)


def read(path: Path, *, noun: str) -> Document:
    """Read a YAML file that holds a mapping. The noun says in messages what the file is."""
    nodes = _Nodes(path)
    try:
        node = _Loader(_text(path, noun)).get_single_node()
        data = nodes.build(node, ()) if node else None
    except yaml.MarkedYAMLError as error:
        raise _syntax(path, error) from None
    except RecursionError:
        rule = f"a {noun} is nested a few levels deep"
        raise InputError(rule, "hundreds", "Check the brackets.", str(path)) from None
    if not isinstance(data, dict):
        rule = f"a {noun} is a mapping, with lines such as `name: value`"
        place = f"{path}:{nodes.values.get((), '1:1')}"
        raise InputError(rule, "an empty file" if data is None else shown(data), "See examples/ for some.", place)
    return Document(path, data, nodes.keys, nodes.values)


def _text(path: Path, noun: str) -> str:
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        rule = f"a {noun} is a text file in UTF-8"
        raise InputError(rule, f"byte {error.start} of another kind", "Convert it to UTF-8.", str(path)) from None
    except OSError as error:
        rule = f"a {noun} is a file that can be read"
        raise InputError(rule, f"'{path}' ({error.strerror})", "Check the path.") from None
    strange = next((i for i, c in enumerate(text) if not c.isprintable() and c not in "\n\r\t\x85\u2028\u2029"), None)
    if strange is not None:
        line = text.count("\n", 0, strange) + 1
        column = strange - text.rfind("\n", 0, strange)
        rule = f"a {noun} holds printable characters"
        raise InputError(rule, repr(text[strange]), "Remove that character.", f"{path}:{line}:{column}")
    return text


def _syntax(path: Path, error: yaml.MarkedYAMLError) -> InputError:
    mark = error.problem_mark or error.context_mark
    place = f"{path}:{mark.line + 1}:{mark.column + 1}" if mark else str(path)
    got = f"a mistake: {' '.join(part for part in (error.problem, error.context) if part)}"
    return InputError("the file is valid YAML", got, "Check indentation, colons, quotes and brackets there.", place)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}  # noqa: RUF012 - PyYAML's own, which are those of YAML 1.1, go


for _name, (_pattern, _first) in _SCALARS.items():
    _whole = re.compile(f"^(?:{_pattern.pattern})$")
    _Loader.add_implicit_resolver(_PREFIX + _name, _whole, [*_first, *([""] if _name == "null" else [])])


class _Nodes:
    """Builds the content of a tree of YAML nodes, and notes where each node stands."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.keys: dict[Loc, str] = {}
        self.values: dict[Loc, str] = {}
        self._open: set[int] = set()

    def build(self, node: yaml.Node, loc: Loc) -> object:
        if id(node) in self._open:
            raise self._wrong(node, "an anchor does not contain itself", f"'{loc[-1]}'", "Write the value out.")
        if len(self.values) >= _MOST_NODES:
            # A few lines of aliases of aliases can stand for more than any memory holds.
            raise self._wrong(node, f"a file has at most {_MOST_NODES} values", "more", "Split it.")
        self.values[loc] = _mark(node)
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node)
        kind = "map" if isinstance(node, yaml.MappingNode) else "seq"
        if node.tag != _PREFIX + kind:
            raise self._wrong(node, "a value has no YAML tag", node.tag, "Remove the tag.")
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, loc)
            return [self.build(item, (*loc, i)) for i, item in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, loc: Loc) -> dict[str, object]:
        found: dict[str, object] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise self._wrong(key, "a key is a word", f"a {_noun(key)}", "Write `name: value`.")
            name = str(key.value)
            if name in found:
                before = self.keys[*loc, name].split(":")[0]
                got = f"'{name}', which stands in line {before} already"
                raise self._wrong(key, "a key stands once in a mapping", got, "Remove or rename one of them.")
            self.keys[*loc, name] = _mark(key)
            found[name] = self.build(value, (*loc, name))
        return found

    def _scalar(self, node: yaml.ScalarNode) -> object:
        text = str(node.value)
        match node.tag.removeprefix(_PREFIX):
            case "str":
                return text
            case "null":
                return None
            case "bool":
                return text.lower() == "true"
            case "int" | "float" as kind:
                digits = re.sub(r"_|\.(?=inf|nan)", "", text.lower())
                try:
                    return int(digits) if kind == "int" else float(digits)
                except ValueError:
                    # A number of thousands of digits, or a tag that the text does not fit.
                    return math.inf if text.isdigit() else text
        raise self._wrong(node, "a value has no YAML tag", node.tag, "Remove the tag.")

    def _wrong(self, node: yaml.Node, rule: str, got: str, remedy: str) -> InputError:
        return InputError(rule, got, remedy, f"{self.path}:{_mark(node)}")


def _mark(node: yaml.Node) -> str:
    return f"{node.start_mark.line + 1}:{node.start_mark.column + 1}"


def _noun(node: yaml.Node) -> str:
    return "mapping" if isinstance(node, yaml.MappingNode) else "list"


def _subject(loc: Loc) -> str:
    names = [step for step in loc if isinstance(step, str)]
    if not names:
        return "the file"
    return f"every entry of '{names[-1]}'" if isinstance(loc[-1], int) else f"'{names[-1]}'"
