"""Mappings of a pipeline file: every key that is there has a value, and some can be written in a shorter way."""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue

from headgate.document import shown
from headgate.errors import choose
from headgate.fields import Spec, whole


class FilledSpec(Spec):
    """A mapping in which a key without a value is a mistake, and not the same as no key."""

    @model_validator(mode="before")
    @classmethod
    def _filled(cls, data: object) -> object:
        if isinstance(data, Mapping):
            for key in cls.known(data):
                if key in data and data[key] is None:
                    raise whole(f"'{key}' has a value", "nothing", "Write one, or remove the key.", key)
        return data


class ShortSpec(FilledSpec):
    """A mapping that may also be one word: the value of its key `main`."""

    main: ClassVar[str]

    @model_validator(mode="before")
    @classmethod
    def _spelled_out(cls, data: object) -> object:
        return {cls.main: data} if isinstance(data, str) else data

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:  # noqa: ANN401
        """The mapping, or what its main key takes."""
        found = handler(core)
        return {"anyOf": [found, handler.resolve_ref_schema(found)["properties"][cls.main]]}


class OneOf(Spec):
    """A mapping with exactly one key, the kind. `alone` are the kinds that may be written as a word."""

    alone: ClassVar[tuple[str, ...]]

    @model_validator(mode="before")
    @classmethod
    def _one(cls, data: object) -> object:
        if isinstance(data, str):
            data = cls._kind(data)
        if isinstance(data, Mapping):
            kinds = cls.known(data)
            if len(data) != 1:
                rule = f"{cls.noun} is exactly one of {', '.join(kinds)}"
                raise whole(rule, shown(data), f"Write it like {cls.example}.")
            for kind, given in data.items():
                if given is None and kind in cls.alone:
                    return {kind: {}}
                if given is None and kind in kinds:
                    raise whole(f"'{kind}' has a value", "nothing", f"Write it like {cls.example}.", kind)
        return data

    @classmethod
    def _kind(cls, word: str) -> Mapping[str, object]:
        if word not in (kinds := cls.known({})):
            remedy = f"{choose(word, kinds)} Write it like {cls.example}."
            raise whole(f"{cls.noun} is of a known kind", shown(word), remedy)
        if word not in cls.alone:
            rule = f"{cls.noun} without settings is {' or '.join(cls.alone)}"
            raise whole(rule, shown(word), f"Write it with its settings, as in {cls.example}.")
        return {word: {}}

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: GetJsonSchemaHandler) -> JsonSchemaValue:  # noqa: ANN401
        """The mapping, or a kind alone."""
        found = handler(core)
        handler.resolve_ref_schema(found).update(minProperties=1, maxProperties=1)
        return {"anyOf": [found, {"enum": list(cls.alone)}]}
