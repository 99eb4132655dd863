"""Spark's Java in a process of its own, so that a program over it can be killed and begun again within seconds.

`python -m engine.crash.java` says where its Java listens, and lives until its input is closed.
"""

import os
import sys

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.python.unix.domain.socket.enabled": "true",
}
PORT, SECRET = "PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET"


def say(line):
    """Tell whoever has started the process."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def attached():
    """A session over the Java that the environment names."""
    gateway = launch_gateway()
    context = gateway.jvm.JavaSparkContext(gateway.jvm.org.apache.spark.SparkContext.getOrCreate())
    conf = SparkConf(_jconf=context.getConf())
    return SparkSession(SparkContext(gateway=gateway, jsc=context, conf=conf))


def main():
    builder = SparkSession.builder.master("local[2]")
    for key, value in SETTINGS.items():
        builder = builder.config(key, value)
    listens = builder.getOrCreate().sparkContext._gateway.java_parameters
    say(f"{listens.port} {listens.auth_token}")
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
