"""Installs the systems that are no dependencies of Headgate, each into a folder of its own.

    python -m headgate.bench.rivals.install

The folders are below $HEADGATE_RIVALS, or else in the user's cache. Half a gigabyte is fetched, most of it Flink's.
"""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Package:
    """What pip is asked for, and what is there when it is installed."""

    name: str
    wanted: tuple[str, ...]
    holds: str


FLINK = Package("flink", ("--no-deps", "apache-flink-libraries==2.3.0"), "pyflink/lib")
BYTEWAX = Package("bytewax", ("bytewax==0.21.1",), "bytewax")
COMMAND = "python -m headgate.bench.rivals.install"


def folder_of(package: Package) -> Path:
    """Where it is, or would be."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "headgate" / "rivals"
    return Path(os.environ.get("HEADGATE_RIVALS") or cache) / package.name


def installed(package: Package) -> bool:
    """Whether it can be run."""
    return (folder_of(package) / package.holds).is_dir()


def install(package: Package) -> None:
    """Fetch it, if it is not there."""
    if not installed(package):
        pip = (sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder_of(package)))
        subprocess.run([*pip, *package.wanted], check=True)  # noqa: S603 - our own arguments


if __name__ == "__main__":
    for each in (FLINK, BYTEWAX):
        install(each)
