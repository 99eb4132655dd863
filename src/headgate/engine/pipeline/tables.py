"""Reference tables and their refresh budget, as a pipeline file gives them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_args

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic.config import JsonDict

from headgate.engine.pipeline.spec import FilledSpec, ShortSpec
from headgate.engine.pipeline.values import FilePath, LongerTime, Options, Sql, Switch, Word
from headgate.engine.secret import password
from headgate.engine.table import jdbc, ranges, values
from headgate.engine.table.parts import Parts
from headgate.engine.table.sources import TableSource
from headgate.fields import as_whole, choice, field, number, whole
from headgate.freshness.refreshing import Way

_VALUES: JsonDict = {"type": "array", "minItems": 1, "items": {"type": ["string", "number"]}}


def _list(value: object) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise field("is a list", value, "Write it like [eu, us].")
    return value


Given = Annotated[list[Any], BeforeValidator(_list), WithJsonSchema(_VALUES)]


@dataclass(frozen=True, slots=True)
class Table:
    """A reference table: a path or another source, and how it is refreshed."""

    source: str | TableSource
    parts: Parts | None = None
    refresh: bool = True
    max_age: float | None = None


class PartsSpec(FilledSpec):
    """The parts of a table, each of which is refreshed by itself."""

    noun = "'parts'"
    example = "{column: region, values: [eu, us]}"
    column: Word = Field(description="The column by which the table is divided.")
    values: Given | None = Field(None, description="A part for each of these values, and one for all other rows.")
    ranges: Given | None = Field(None, description="Bounds: a part below the first, one between each two, and so on.")

    @model_validator(mode="after")
    def _one(self) -> "PartsSpec":
        if (self.values is None) == (self.ranges is None):
            got = "both" if self.values is not None else "none"
            raise whole("parts are given by values or by ranges", got, f"Write it like {self.example}.")
        with as_whole():
            self.made()
        return self

    def made(self) -> Parts:
        """As an engine takes it."""
        return values(self.column, *self.values) if self.values else ranges(self.column, *(self.ranges or ()))


class JdbcSpec(FilledSpec):
    """A table of a database."""

    noun = "'jdbc'"
    example = "{url: 'jdbc:postgresql://db/shop', table: prices, user: headgate, password_from: PGPASSWORD}"
    url: Word = Field(description="The address of the database, such as jdbc:postgresql://host:5432/shop.")
    table: Word = Field(description="The table, or a query in parentheses with a name behind it.")
    user: Word | None = Field(None, description="Who reads it.")
    password_from: Word | None = Field(None, description="The environment variable that has the password.")
    version: Sql | None = Field(None, description="A quick query whose answer changes whenever the table does.")
    options: Options = Field(default_factory=dict, description="Other options of the driver.")

    @model_validator(mode="after")
    def _address(self) -> "JdbcSpec":
        with as_whole():
            jdbc(self.url, self.table)
        return self

    def made(self) -> TableSource:
        """As an engine takes it. The password is looked up now."""
        given = dict(self.options) | ({"user": self.user} if self.user else {})
        if self.password_from:
            given["password"] = password(self.password_from, "a table")
        return jdbc(self.url, self.table, given, version=self.version)


class TableSpec(ShortSpec):
    """A reference table that queries can join with."""

    noun = "a table"
    example = "{file: symbols.csv}"
    main = "file"
    file: FilePath | None = Field(None, description="A CSV, Parquet or JSON lines file, or a folder of such files.")
    jdbc: JdbcSpec | None = Field(None, description="One of a database, read through JDBC.")
    parts: PartsSpec | None = Field(None, description="What of it is refreshed by itself; all of it if not given.")
    refresh: Switch = Field(True, description="Whether it is refreshed, if there is a budget for that.")
    max_age: LongerTime | None = Field(
        None, description="No part is left longer than this before it is read again.", examples=["5min"]
    )

    @model_validator(mode="after")
    def _one(self) -> "TableSpec":
        if (self.file is None) == (self.jdbc is None):
            got = "both" if self.file is not None else "none"
            raise whole("a table is a file or one of a database", got, f"Write it like {self.example}.")
        if self.max_age is not None and not self.refresh:
            raise whole("a table with a max_age is refreshed", "refresh: false", "Remove one of them.", "max_age")
        return self

    def made(self, folder: Path) -> Table:
        """As an engine takes it; a relative path starts at a folder."""
        source = self.jdbc.made() if self.jdbc else str(folder / (self.file or ""))
        return Table(source, self.parts.made() if self.parts else None, self.refresh, self.max_age)


class RefreshSpec(FilledSpec):
    """How tables are kept fresh."""

    noun = "'refresh'"
    example = "{budget: 12, per: 60s}"
    budget: Annotated[float, Field(gt=0), BeforeValidator(number(above=0, such_as=12))] | None = Field(
        None, description="So many refreshes in a period."
    )
    bytes: Annotated[float, Field(gt=0), BeforeValidator(number(above=0, such_as=1e8))] | None = Field(
        None, description="So many bytes that are read in a period, instead of a number of refreshes."
    )
    per: LongerTime = Field(60.0, description="The period.")
    policy: Annotated[
        Way, BeforeValidator(choice("way to refresh", get_args(Way))), WithJsonSchema({"enum": list(get_args(Way))})
    ] = Field("profile", description="What is refreshed how often: by profile, uniform, by change, or none.")

    @model_validator(mode="after")
    def _one(self) -> "RefreshSpec":
        if (self.budget is None) == (self.bytes is None):
            got = "both" if self.budget is not None else "none"
            raise whole("a refresh budget is in refreshes or in bytes", got, f"Write it like {self.example}.")
        return self

    def made(self) -> dict[str, Any]:
        """What an engine is given."""
        return {"refreshes": self.budget, "bytes": self.bytes, "per": self.per, "policy": self.policy}
