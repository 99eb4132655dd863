"""Flink: all queries as one statement set, in a cluster inside one Java process.

Source and function are Java and everything is chained into one task, so a tuple goes from the source through all
filters by method calls. There are no checkpoints, which Headgate's log and Spark's would be comparable to.
"""

import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from py4j.protocol import Py4JJavaError

from headgate.bench.rivals.alerts import SYMBOLS, Alert
from headgate.bench.rivals.install import FLINK, folder_of
from headgate.bench.rivals.jvm import SPARK_JARS, JvmEar, JvmFeed, compile_java
from headgate.errors import HeadgateError

_OPEN = ("java.base/java.util=ALL-UNNAMED", "java.base/java.lang=ALL-UNNAMED", "java.base/java.net=ALL-UNNAMED")
_SERVICE = "META-INF/services/org.apache.flink.table.factories.Factory"

_LOGGING = """
rootLogger.level = warn
rootLogger.appenderRef.all.ref = all
appender.all.name = all
appender.all.type = CONSOLE
appender.all.target = SYSTEM_ERR
appender.all.layout.type = PatternLayout
appender.all.layout.pattern = %p %c{1} %m%n
"""


@contextmanager
def started(queries: Sequence[Alert]) -> Iterator[tuple[JvmFeed, JvmEar]]:
    """The job, running."""
    jars = sorted((folder_of(FLINK) / "pyflink" / "lib").glob("*.jar"))
    compiler = sorted(SPARK_JARS.glob("*janino*.jar")) + sorted(SPARK_JARS.glob("commons-compiler*.jar"))
    with tempfile.TemporaryDirectory() as name:
        classes = Path(name)
        (classes / _SERVICE).parent.mkdir(parents=True)
        (classes / _SERVICE).write_text("headgate.bench.FlinkTables\n")
        (classes / "log4j2.properties").write_text(_LOGGING)
        port, token = launch_gateway(
            classpath=":".join(str(path) for path in (classes, *jars, *compiler)),
            javaopts=["-Xmx2g", *(part for module in _OPEN for part in ("--add-opens", module))],
            redirect_stderr=sys.stderr,
            die_on_exit=True,
            enable_auth=True,
        )
        gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token, auto_convert=True))
        try:
            compile_java(gateway, ("FlinkTables",), jars, classes)
            texts = gateway.new_array(gateway.jvm.java.lang.String, len(queries))
            for i, query in enumerate(queries):
                texts[i] = query.sql
            gateway.jvm.headgate.bench.FlinkTables.start(SYMBOLS, texts)
            yield JvmFeed(gateway.jvm), JvmEar(gateway.jvm)
        except Py4JJavaError as error:
            # What it says is asked of the Java process, which is about to end.
            raise HeadgateError(str(error)) from None
        finally:
            gateway.shutdown()
