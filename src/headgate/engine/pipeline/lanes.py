"""The lanes that a pipeline file asks for: a word, a number, or a number of each kind."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from headgate.engine.pipeline.spec import FilledSpec
from headgate.fields import field, whole_number

WORDS = ("auto", "jobs")
_MOST = 256


def _short(value: object) -> int | str:
    if value in WORDS and isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= _MOST:
        return value
    rule = f"is auto, jobs, a number from 1 to {_MOST}, or a number of each kind"
    raise field(rule, value, "Write auto, or a number such as 2, or {jobs: 1, resident: 2}.")


class LanesSpec(FilledSpec):
    """Lanes by their kind."""

    noun = "'lanes'"
    example = "{jobs: 1, resident: 2}"
    jobs: Annotated[int, Field(ge=1, le=_MOST), BeforeValidator(whole_number(1, such_as=1, most=_MOST))] = Field(
        1, description="Lanes that run Spark jobs."
    )
    resident: Annotated[int, Field(ge=0, le=_MOST), BeforeValidator(whole_number(0, such_as=1, most=_MOST))] = Field(
        0, description="Lanes that are Spark tasks which stay, and run what the kernel can."
    )


def _form(value: object) -> str:
    return "mapping" if isinstance(value, Mapping | LanesSpec) else "short"


_SHORT = {"anyOf": [{"enum": list(WORDS)}, {"type": "integer", "minimum": 1, "maximum": _MOST}]}
LanesField = Annotated[
    Annotated[LanesSpec, Tag("mapping")]
    | Annotated[int | str, BeforeValidator(_short), WithJsonSchema(_SHORT), Tag("short")],
    Discriminator(_form),
]


def lanes(given: LanesSpec | int | str) -> int | str | Mapping[str, int]:
    """As an engine takes them."""
    return given.model_dump() if isinstance(given, LanesSpec) else given
