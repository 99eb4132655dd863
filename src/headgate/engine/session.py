"""The Spark session of an engine: its own, or one beside the user's on the same context."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from pyspark.sql import SparkSession

from headgate.errors import InputError

_OLDEST_JAVA = 17

CONTEXT = {
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",  # half the time of a job's way to its Python worker
    "spark.driver.extraJavaOptions": "-XX:-DontCompileHugeMethods",  # wide plans run compiled, not interpreted
    "spark.executor.extraJavaOptions": "-XX:-DontCompileHugeMethods",
}
"""What only a context can be given, when it is made."""

SESSION = {
    "spark.sql.ansi.enabled": "false",  # one bad value yields NULL, not a dead query
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.adaptive.enabled": "false",  # a prepared plan is final
    "spark.sql.shuffle.partitions": "1",  # a job runs on one lane
    # What is one partition already is joined as it is: without an exchange its plan can be run again. A stream has no
    # size, so it is given one at which even the product of several is within the limit, and nobody broadcasts it.
    "spark.sql.maxSinglePartitionBytes": str(2**63 - 1),
    "spark.sql.defaultSizeInBytes": str(2**24),
    "spark.sql.execution.arrow.pyspark.enabled": "true",
}
"""What a session of its own can have without touching the user's."""


def session(
    spark: SparkSession | None = None,
    master: str | None = None,
    jars: Sequence[str | Path] = (),
) -> SparkSession:
    """A session with the settings that prepared plans need.

    Beside a given one it is a second session: same context and executors, but views and settings of its own. `jars`
    are those of a context that is made for it.
    """
    if spark is None:
        check_java()
        # Spark starts its workers as `python3`, which may be another interpreter than ours.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        # More slots than cores: a resident lane that waits for work must not keep jobs from running.
        builder = SparkSession.builder.master(master or f"local[{(os.cpu_count() or 1) + 2}]").appName("headgate")
        for key, value in CONTEXT.items():
            builder = builder.config(key, value)
        if jars:
            builder = builder.config("spark.jars", ",".join(_jar(each) for each in jars))
        spark = builder.getOrCreate()
    own = spark.newSession()
    for key, value in SESSION.items():
        own.conf.set(key, value)
    return own


def _jar(given: str | Path) -> str:
    path = Path(given)
    if "://" not in str(given) and not path.is_file():
        raise InputError("a jar is a file that exists", f"'{given}'", "Check the path.")
    return str(given) if "://" in str(given) else str(path.absolute())


def check_java() -> None:
    """Raise a clear error where there is no Java for Spark."""
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin" / "java") if home else shutil.which("java")
    remedy = f"Install a JDK, {_OLDEST_JAVA} or newer (Debian, Ubuntu: apt-get install openjdk-17-jre-headless)."
    if java is None or not Path(java).exists():
        raise InputError(f"Spark runs on Java {_OLDEST_JAVA} or newer", "no java command", remedy)
    said = subprocess.run([java, "-version"], capture_output=True, text=True, check=False).stderr  # noqa: S603
    version = said.partition('version "')[2].partition(".")[0].partition('"')[0]
    if version.isdigit() and int(version) < _OLDEST_JAVA:
        raise InputError(f"Spark runs on Java {_OLDEST_JAVA} or newer", f"Java {version}", remedy)
