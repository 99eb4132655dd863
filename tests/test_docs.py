"""Every Python example in the documentation runs; every scenario and every pipeline in it is one."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from headgate.cli import app
from headgate.engine.pipeline import load as load_pipeline
from headgate.sim.scenario import load

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def blocks(language):
    return [
        pytest.param(page, code, id=f"{page.name}:{page.read_text()[: match.start()].count(chr(10)) + 1}")
        for page in PAGES
        for match in FENCE.finditer(page.read_text())
        for found, code in [(match[1], match[3])]
        if found == language and "class Policy(Protocol)" not in code
    ]


@pytest.mark.parametrize(("page", "code"), blocks("python"))
def test_python_examples_run(page, code, monkeypatch, tmp_path):
    # An engine leaves its state where it is started.
    monkeypatch.chdir(tmp_path if "Engine(" in code else ROOT)
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(code, page.name, "exec"), {"__name__": "__main__"})
    assert printed.getvalue()


SCENARIOS = [block for block in blocks("yaml") if "policies:" in block.values[1]]


@pytest.mark.parametrize(("page", "code"), SCENARIOS)
def test_scenarios_in_the_docs_are_valid(page, code, tmp_path):
    path = tmp_path / "scenario.yaml"
    path.write_text(code)
    assert load(path).name


PIPELINES = [
    block
    for block in blocks("yaml")
    if re.search(r"^queries:", block.values[1], re.MULTILINE) and "sql:" in block.values[1]
]


@pytest.mark.parametrize(("page", "code"), PIPELINES)
def test_pipelines_in_the_docs_are_valid(page, code, tmp_path):
    path = tmp_path / "pipeline.yaml"
    path.write_text(code)
    assert load_pipeline(path).queries


def test_every_command_that_the_docs_name_exists():
    known = {c.name or c.callback.__name__ for c in app.registered_commands}
    for page in PAGES:
        for name in re.findall(r"(?:`|^\S*)headgate ([a-z]+)", page.read_text(), re.MULTILINE):
            assert name in known, f"{page.name} names 'headgate {name}'"


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
