"""What single values of a pipeline file may be: checked as in any file of ours, and described to editors."""

import re
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, WithJsonSchema

from headgate.fields import UNITS, Longer, Seconds, Text, field, length, number, whole_number

_NUMBER_AND_UNIT = rf"\s*\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?\s*({'|'.join(UNITS)})\s*$"
_ROWS = r"\s*[0-9]{1,12}\s*rows?\s*$"
_NOT_ZERO = "(?=[^eE]*[1-9])"
IDENTIFIER = "[A-Za-z][A-Za-z0-9_]*"
"""The names of streams, tables and queries."""


def _time(least: dict[str, Any], ahead: str = "", *others: str) -> WithJsonSchema:
    texts = [{"type": "string", "pattern": f"^{text}"} for text in (f"{ahead}{_NUMBER_AND_UNIT}", *others)]
    return WithJsonSchema({"anyOf": [{"type": "number", **least}, *texts]})


def _path(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise field("is a path", value, "Write it like data/ticks.csv; it starts at the folder of this file.")
    return value


def _sql(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise field("is a query in Spark SQL", value, "Write it like SELECT * FROM ticks WHERE price > 100.")
    return value


def _identifier(value: object) -> str:
    if not isinstance(value, str) or not re.fullmatch(IDENTIFIER, value):
        raise field("is a plain name: a letter, then letters, digits and _", value, "Rename it, as in big_trades.")
    return value


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise field("is true or false", value, "Write true or false.")
    return value


def _texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(each, str | int | float) for each in value.values()):
        raise field("is a mapping of words", value, "Write it like {user: headgate}.")
    return {str(key): str(each) for key, each in value.items()}


Time = Annotated[Seconds, _time({"minimum": 0})]
LongerTime = Annotated[Longer, _time({"exclusiveMinimum": 0}, _NOT_ZERO)]
Length = Annotated[
    float | str, BeforeValidator(length), _time({"exclusiveMinimum": 0}, _NOT_ZERO, rf"{_NOT_ZERO}{_ROWS}")
]
Count = Annotated[int, Field(ge=1), BeforeValidator(whole_number(1, such_as=10))]
Switch = Annotated[bool, BeforeValidator(_switch)]
Seed = Annotated[int, Field(ge=0), BeforeValidator(whole_number(0, such_as=1))]
Rate = Annotated[float, Field(gt=0), BeforeValidator(number(above=0, such_as=1000))]
Port = Annotated[int, Field(ge=0, le=65535), BeforeValidator(whole_number(0, such_as=9999, most=65535))]
FilePath = Annotated[str, Field(min_length=1), BeforeValidator(_path)]
Sql = Annotated[str, Field(min_length=1), BeforeValidator(_sql)]
Word = Annotated[Text, WithJsonSchema({"type": ["string", "integer"]})]
Identifier = Annotated[str, Field(pattern=f"^{IDENTIFIER}$"), BeforeValidator(_identifier)]
Options = Annotated[
    dict[str, str],
    BeforeValidator(_texts),
    WithJsonSchema({"type": "object", "additionalProperties": {"type": ["string", "number"]}}),
]
