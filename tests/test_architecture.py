"""The folder tree is the architecture: who imports whom, what the control plane may not know, what is registered."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

import headgate
from headgate.policy.deadlines import DeadlinesFirst
from headgate.policy.protocol import Policy
from headgate.policy.registry import POLICIES
from headgate.policy.statement import Statement

ROOT = Path(headgate.__file__).parent

LAYERS = (
    *("errors", "model", "policy", "monitor", "shed", "control", "freshness"),
    *("document", "fields", "printed", "record", "sim", "engine", "web", "cluster"),
    *("experiments", "bench", "demo", "cli"),
)
"""From the inside out: a part may import itself and what stands before it."""

APART = {frozenset({"sim", "engine"})}
"""The two backends know nothing of each other."""

ON_REQUEST = {
    "engine/engine.py imports headgate.web.live.OnEngine",
    "engine/engine.py imports headgate.web.server.Server",
    "engine/engine.py imports headgate.web.telemetry.Telemetry",
}
"""An engine that is asked to be served or to push calls for who does that, and knows nothing else around it."""

CONTROL_PLANE = ("model", "monitor", "policy", "shed", "control", "freshness")
"""Observations in, decisions out: no clock, no thread, no file, no chance."""

FORBIDDEN = {
    *("asyncio", "multiprocessing", "numba", "os", "pathlib", "pyspark", "random"),
    *("signal", "socket", "sqlite3", "subprocess", "threading", "time"),
}
CLOCKS = {"now", "utcnow", "today"}


def sources(*parts):
    """The modules of parts of the package that exist, by their path within it."""
    found = {}
    for part in parts:
        files = [ROOT / f"{part}.py", *(ROOT / part).rglob("*.py")]
        found |= {file.relative_to(ROOT).as_posix(): file.read_text() for file in files if file.exists()}
    return found


def imports(source):
    """The full names of what a module imports, with what it takes from there."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def wrong_imports(path, source):
    """The imports of a module that go against the layers."""
    part = path.removesuffix(".py").split("/")[0]
    found = []
    for name in imports(source):
        package, _, rest = name.partition(".")
        target = rest.split(".")[0]
        if package != "headgate" or target not in LAYERS:
            continue
        if LAYERS.index(target) > LAYERS.index(part) or frozenset({part, target}) in APART:
            found.append(f"{path} imports {name}")
    return [each for each in found if each not in ON_REQUEST]


def worldly(path, source):
    """What a module of the control plane has of the world outside: modules it imports, and clocks that it reads."""
    attributes = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Attribute)]
    clocks = [ast.unparse(node) for node in attributes if node.attr in CLOCKS and "date" in ast.unparse(node.value)]
    return [
        *(f"{path} imports {name}" for name in imports(source) if name.split(".")[0] in FORBIDDEN),
        *(f"{path} reads {clock}" for clock in clocks),
    ]


def test_every_part_of_the_package_has_its_layer():
    parts = {p.stem for p in ROOT.iterdir() if p.suffix == ".py" or any(p.glob("*.py"))}
    assert parts - {"__init__", "__main__"} <= set(LAYERS)


@pytest.mark.parametrize("part", [part for part in LAYERS if sources(part)])
def test_imports_go_inwards_only(part):
    wrong = [each for path, source in sources(part).items() for each in wrong_imports(path, source)]
    assert not wrong


@pytest.mark.parametrize("part", [part for part in CONTROL_PLANE if sources(part)])
def test_the_control_plane_knows_no_clock_no_thread_and_no_file(part):
    found = [each for path, source in sources(part).items() for each in worldly(path, source)]
    assert not found


def test_the_parts_that_the_rules_are_about_are_there():
    assert len(sources(*CONTROL_PLANE)) > 15
    assert "policy/bsd.py" in sources("policy")
    assert "sim/compiled/joins.py" in sources("sim")


@pytest.mark.parametrize(
    ("path", "source", "reported"),
    [
        ("model/unit.py", "from headgate.policy import hnr", ["model/unit.py imports headgate.policy.hnr"]),
        ("policy/hr.py", "import headgate.sim.run", ["policy/hr.py imports headgate.sim.run"]),
        ("policy/hr.py", "def f():\n    from headgate.cli import main", ["policy/hr.py imports headgate.cli.main"]),
        ("engine/job.py", "from headgate.sim import draws", ["engine/job.py imports headgate.sim.draws"]),
        ("sim/run.py", "from headgate.engine import job", ["sim/run.py imports headgate.engine.job"]),
        ("errors.py", "from headgate.model import Unit", ["errors.py imports headgate.model.Unit"]),
        ("policy/hr.py", "import numpy\nfrom headgate.errors import InputError\nfrom headgate.model import Unit", []),
        ("policy/hr.py", "from headgate.policy import bsd\nfrom headgate import __version__", []),
    ],
)
def test_an_import_against_the_layers_would_be_reported(path, source, reported):
    assert wrong_imports(path, source) == reported


@pytest.mark.parametrize(
    ("source", "reported"),
    [
        ("import time", ["m.py imports time"]),
        ("import os.path", ["m.py imports os.path"]),
        ("from random import random", ["m.py imports random.random"]),
        ("if True:\n    import threading as t", ["m.py imports threading"]),
        ("from datetime import datetime\nx = datetime.now()", ["m.py reads datetime.now"]),
        ("import datetime\nx = datetime.date.today()", ["m.py reads datetime.date.today"]),
        ("from datetime import timedelta\nimport math\nnow = view.now", []),
    ],
)
def test_a_piece_of_the_world_would_be_reported(source, reported):
    assert worldly("m.py", source) == reported


# The registry.


def policy_modules():
    """Those of single policies, and those of QoS graphs; class schedulers have a registry of their own."""
    packages = {"headgate.policy": ROOT / "policy", "headgate.policy.qos": ROOT / "policy" / "qos"}
    return [import_module(f"{name}.{file.stem}") for name, folder in packages.items() for file in folder.glob("*.py")]


def stated(module):
    """The statements that a module makes."""
    return [each for each in vars(module).values() if isinstance(each, Statement)]


def schedulers(module):
    """The classes of a module that are policies."""
    methods = [name for name in vars(Policy) if not name.startswith("_")]
    assert methods == ["prepare", "choose", "observe"]
    return [
        each
        for each in vars(module).values()
        if isinstance(each, type)
        and each is not Policy
        and each.__module__ == module.__name__
        and all(hasattr(each, name) for name in methods)
    ]


def test_every_policy_that_a_module_states_is_registered_under_its_name():
    statements = {each.name: each for module in policy_modules() for each in stated(module)}
    assert len(statements) >= 9
    for name, statement in statements.items():
        assert POLICIES[name].make.args == (statement,)


def test_every_scheduler_is_reachable_from_the_registry():
    made = {getattr(listed.make, "func", listed.make) for listed in POLICIES.values()}
    written = {each for module in policy_modules() for each in schedulers(module)}
    # What puts deadlines before another policy is none by itself.
    assert written - {DeadlinesFirst} == made
    assert len(written) >= 3
