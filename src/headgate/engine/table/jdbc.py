"""Tables of a database, read through Spark's JDBC reader."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from headgate.errors import InputError

_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "oracle": "oracle.jdbc.OracleDriver",
    "sqlite": "org.sqlite.JDBC",
}
"""By the kind of database. Spark finds a driver among its jars only if it is told the name."""

_PATIENCE = {"postgresql": {"socketTimeout": "60", "tcpKeepAlive": "true"}}
"""By the kind of database. Else a host that has gone without a word is waited for for ever."""

_NO_DRIVER = ("No suitable driver", "ClassNotFoundException")


@dataclass(frozen=True, slots=True)
class Jdbc:
    """A table of a database, or a query in parentheses with a name behind it."""

    url: str
    table: str
    properties: Mapping[str, str] = field(default_factory=dict, repr=False)
    mark: str | None = None

    def frame(self, spark: SparkSession) -> DataFrame:
        """The rows; conditions on them are the database's to look at."""
        return self._read(spark, self.table)

    def version(self, spark: SparkSession) -> str | None:
        """What the version query answers."""
        if self.mark is None:
            return None
        rows = self._read(spark, f"({self.mark}) AS headgate_version").collect()
        return str([tuple(row) for row in rows])

    @property
    def options(self) -> Mapping[str, str]:
        """What the driver is told."""
        driver = {"driver": _DRIVERS[self._kind]} if self._kind in _DRIVERS else {}
        return {**driver, **_PATIENCE.get(self._kind, {}), **self.properties}

    @property
    def _kind(self) -> str:
        return self.url.split(":")[1]

    def _read(self, spark: SparkSession, table: str) -> DataFrame:
        try:
            return spark.read.jdbc(self.url, table, properties=dict(self.options))
        except (PySparkException, Py4JJavaError) as error:
            if any(word in str(error) for word in _NO_DRIVER):
                remedy = "Start Spark with the driver's jar: Engine(jars=['/usr/share/java/postgresql.jar']), say."
                raise InputError(
                    "Spark has the driver of a database", f"no driver for {self._kind}", remedy
                ) from None
            raise


def jdbc(url: str, table: str, properties: Mapping[str, str] | None = None, *, version: str | None = None) -> Jdbc:
    """A table of a database.

    `properties` are those of the driver, such as user and password. `version` is a query that is cheap and whose
    answer changes whenever the table does, such as SELECT max(changed) FROM prices.
    """
    if not url.startswith("jdbc:"):
        rule, remedy = "a database is named by a JDBC address", "Write it like jdbc:postgresql://host:5432/shop."
        raise InputError(rule, f"'{url}'", remedy)
    return Jdbc(url, table, dict(properties or {}), version)
