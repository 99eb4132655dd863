"""The pipeline file as a JSON schema, with which editors complete, explain and check it."""

import json
from pathlib import Path
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue

from headgate.engine.pipeline.file import PipelineFile

PATH = Path(__file__).with_name("schema.json")


class _Generator(GenerateJsonSchema):
    """Leaves out what a reader of the file has no use for: names of classes, and null for keys that are absent."""

    def model_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ANN401 - a part of pydantic's core schema
        found = super().model_schema(schema)
        found.pop("title", None)
        return found

    def nullable_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ANN401
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: Any) -> JsonSchemaValue:  # noqa: ANN401
        return (
            super().default_schema(schema)
            if schema.get("default") is not None
            else self.generate_inner(schema["schema"])
        )

    def field_title_should_be_set(self, schema: Any) -> bool:  # noqa: ANN401, ARG002
        return False


def schema() -> dict[str, Any]:
    """The schema, made from what `load` checks."""
    found = PipelineFile.model_json_schema(schema_generator=_Generator)
    return {"$schema": GenerateJsonSchema.schema_dialect, "title": "A Headgate pipeline", **found}


def text() -> str:
    """The content of schema.json."""
    return json.dumps(schema(), indent=2, ensure_ascii=False) + "\n"
