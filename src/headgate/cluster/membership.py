"""Who may be a node: one with a plain name, with the folder of its cluster, that runs the same pipeline.

<folder>/cluster-id    made by the coordinator that came first; apart, what the folder of a node belongs to
"""

import hashlib
import json
import re
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from headgate.cluster.instances import Membership, Report
from headgate.cluster.ledger import create
from headgate.engine.pipeline import Pipeline
from headgate.errors import InputError

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_FILE = "cluster-id"
_FILES = ("replay", "folder")
"""Sources that are files."""


def checked_name(name: str) -> str:
    """The name of a node, which is that of a folder too."""
    if not _NAME.fullmatch(name):
        remedy = "Use letters, digits, points, dashes and underscores."
        raise InputError("a node has a plain name", f"'{name}'", remedy)
    return name


def founded(folder: Path, cluster: str | None = None) -> str:
    """The cluster that a folder belongs to: the one that it has been since somebody said so first."""
    file = folder / _FILE
    if not file.exists():
        create(file, cluster or uuid.uuid4().hex)
    return file.read_text()


def known(folder: Path) -> str:
    """The cluster that a folder belongs to; empty if none."""
    file = folder / _FILE
    return file.read_text() if file.exists() else ""


def digest(pipeline: Pipeline) -> str:
    """What has to be the same on all nodes: streams, queries and classes. Where files are may differ."""
    data: Any = pipeline.document.data
    streams = {name: {**each, "source": _source(each["source"])} for name, each in data.get("streams", {}).items()}
    queries = {name: {**each, "sink": _sink(each.get("sink"))} for name, each in data.get("queries", {}).items()}
    text = json.dumps([streams, queries, data.get("classes", {})], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _source(given: object) -> object:
    if not isinstance(given, Mapping):
        return given
    ((kind, options),) = given.items()
    if isinstance(options, Mapping):
        return {kind: {key: value for key, value in options.items() if key != "path"}}
    return {kind: None if kind in _FILES else options}


def _sink(given: object) -> object:
    return given if isinstance(given, Mapping) and "stream" in given else None


def check(report: Report, member: Membership, folder: Path, *, apart: bool) -> None:
    """Refuse a node that is not of this cluster, of its kind and its pipeline."""
    node = checked_name(report.node)
    if bool(report.home) != apart:
        kind = "have a folder of their own each (headgate coordinator --apart)"
        kind = kind if apart else "share the folder of the coordinator"
        remedy = "Start the node again; it asks the coordinator how it is."
        raise InputError(f"nodes of this coordinator {kind}", f"node '{node}', which does not", remedy)
    if report.member.cluster != member.cluster:
        got = f"node '{node}' with {'that of another' if report.member.cluster else 'one of none'}"
        remedy = "Give it another --folder, of its own." if apart else f"Start it with --folder {folder}."
        raise InputError("a node has a folder of its coordinator's cluster", got, remedy)
    if report.member.pipeline != member.pipeline:
        rule = "all nodes have the streams, queries and classes of the coordinator's pipeline"
        remedy = "Start it with the same pipeline file; if that has changed, start the coordinator again first."
        raise InputError(rule, f"node '{node}' with others", remedy)
