"""What the documentation shows: Python runs, queries are planned, scenarios are valid, commands are understood."""

import contextlib
import io
import json
import re
import shlex
import shutil
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from headgate.cli import app
from headgate.engine.engine import Engine
from headgate.engine.pipeline import load as load_pipeline
from headgate.sim.scenario import load

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = r"(?:\.venv/bin/)?headgate "
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
def test_python_examples_run(page, code, request, monkeypatch, tmp_path):
    if "Engine(" in code:
        request.getfixturevalue("spark")
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
def test_every_query_of_the_pipelines_in_the_docs_is_planned(page, code, spark, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("pipeline.yaml").write_text(code)
    asked = load_pipeline(Path("pipeline.yaml")).queries
    done = CliRunner().invoke(app, ["explain", "pipeline.yaml", "--json"])
    assert done.exit_code == 0, done.stderr
    assert len(json.loads(done.stdout)["queries"]) >= len(asked) > 0


WRITTEN = [
    pytest.param(line, id=f"{page.name}: {line}")
    for page in PAGES
    for line in dict.fromkeys(re.findall(rf"^ *(?:\$ )?{COMMAND}(.*)$", page.read_text(), re.MULTILINE))
]
NAMED = [
    pytest.param(words, id=f"{page.name}: {words}")
    for page in PAGES
    for words in dict.fromkeys(re.findall(rf"`{COMMAND}([a-z][^`\n]*)`", page.read_text()))
]


def command(words):
    """The command that words begin with, and the rest of them."""
    return typer.main.get_command(app).commands[words[0]], words[1:]


@pytest.mark.parametrize("line", WRITTEN)
def test_every_command_line_in_the_docs_is_understood(line):
    # What it does may stand behind it.
    found, given = command(shlex.split(re.split(r"\s{2,}", line)[0], comments=True))
    found.make_context(found.name, given)


@pytest.mark.parametrize("words", NAMED)
def test_every_command_that_the_docs_name_exists_and_so_do_its_options(words):
    found, given = command(words.split())
    known = {option for each in found.params for option in each.opts + each.secondary_opts}
    assert {word for word in given if word.startswith("--")} <= known


def typed():
    """What README says to type on the way to the first query and through a run, but for what takes minutes."""
    text = (ROOT / "README.md").read_text().partition("## Check the claims")[0]
    return re.findall(r"^headgate (.*)$", text, re.MULTILINE)


@pytest.fixture
def lasted(monkeypatch):
    """How long each run went on: some seconds, and until the first query, which looks at each tick, has results."""
    found, wait = [], Engine.wait

    def served(engine, seconds):
        over, status = wait(engine, seconds), engine.status()
        enough = status.elapsed > 4 and status.queries[0].results > 0
        if over or enough:
            found.append(status.elapsed)
        return over or enough

    monkeypatch.setattr(Engine, "wait", served)
    return found


def test_what_readme_says_to_type_works_one_line_after_the_other(spark, lasted, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (pipeline,) = [code for page, code in (block.values for block in PIPELINES) if page.name == "README.md"]
    Path("shop.yaml").write_text(pipeline)
    kept = shutil.ignore_patterns("state", "out")
    shutil.copytree(ROOT / "examples" / "pipelines", "examples/pipelines", ignore=kept)
    printed = {}
    for line in typed():
        # A moment that there was, and no port that somebody else may have.
        shorter = line.replace("12.5s", f"{lasted[-1] - 0.5:.1f}s" if lasted else "")
        ending = " --for 300s --no-ui" if line.startswith("run ") else ""
        done = CliRunner().invoke(app, shlex.split(re.sub(r" --for \w+", "", shorter) + ending))
        assert done.exit_code == 0, f"headgate {line}: {done.output}"
        printed[line.split()[0]] = done.output
    assert set(printed) == {"explain", "run", "top", "whatif"}
    assert list(Path("out/big").glob("*.parquet"))
    assert "policy cqc" in printed["explain"]
    assert "2x the rate" in printed["whatif"]


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
