"""Feed and function inside a Java process, for systems that run there: no tuple and no result crosses to Python.

The sources are compiled by Janino, which Spark brings along, so that a Java runtime is enough.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pyspark
from numpy.typing import NDArray

from headgate.bench.rivals.tuples import Round

SPARK_JARS = Path(pyspark.__file__).parent / "jars"
_SOURCES = Path(__file__).parent / "java" / "headgate" / "bench"
_COMMON = ("Ticks", "Feed", "Heard")
_MICROS = 1_000_000


def compile_java(gateway: Any, names: tuple[str, ...], jars: list[Path], classes: Path) -> None:  # noqa: ANN401 - py4j has no types
    """Compile some of our classes and those they need into a folder, which is on the class path of the gateway."""
    jvm = gateway.jvm
    file = jvm.java.io.File
    compiler = jvm.org.codehaus.janino.CompilerFactory().newCompiler()
    path = gateway.new_array(file, len(jars))
    for i, jar in enumerate(jars):
        path[i] = file(str(jar))
    compiler.setTargetVersion(8)
    compiler.setClassPath(path)
    compiler.setDestinationDirectory(file(str(classes)), False)
    sources = [_SOURCES / f"{name}.java" for name in (*_COMMON, *names)]
    texts = gateway.new_array(file, len(sources))
    for i, source in enumerate(sources):
        texts[i] = file(str(source))
    compiler.compile(texts)


class JvmFeed:
    """`Feed.java`."""

    def __init__(self, jvm: Any) -> None:  # noqa: ANN401 - py4j has no types
        self._feed = jvm.headgate.bench.Feed

    def play(self, rate: float, seconds: float) -> Round:
        """Begin a round now."""
        self._feed.play(float(rate), float(seconds))
        return Round(self._feed.first(), self._feed.end(), rate, self._feed.began() / _MICROS)


class JvmEar:
    """`Heard.java`."""

    def __init__(self, jvm: Any) -> None:  # noqa: ANN401 - py4j has no types
        self._heard = jvm.headgate.bench.Heard

    @property
    def results(self) -> int:
        """How many rows there have been."""
        return int(self._heard.count())

    def waited(self, since: float) -> NDArray[np.float64]:
        """The response times of results whose tuples arrived since a time."""
        found = np.frombuffer(self._heard.since(round(since * _MICROS)), dtype="<i4")
        return found / _MICROS
