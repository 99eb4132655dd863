"""The JSON schema of pipeline files, for editors."""

import json
from pathlib import Path

import pytest

from engine.pipeline.json_schema import keys, valid
from engine.pipeline.pipelines import SMALL
from engine.pipeline.test_pipeline_mistakes import MISTAKES
from headgate.document import read
from headgate.engine.pipeline.schema import PATH, schema, text

EXAMPLES = sorted((Path(__file__).parents[3] / "examples" / "pipelines").glob("*.yaml"))

# What takes more than a look at one value: the order of names, other keys, files, and what an engine knows.
BEYOND = (
    *("a name of its own", "a place of its own", "about event times", "about windows", "exists", "goes with"),
    *("a file or one of a database", "by values or by ranges", "bounds of parts", "a JDBC address", "or in bytes"),
    *("reads its own results", "of what its size is", "is for windows of time", "with a max_age is refreshed"),
    *("utility never", "go from left to right", "a deadline or a QoS graph"),
    *("policy 'bsd' has known keys", "policy 'auto' has known keys", "gone.csv", "symbols is a number from"),
)


def said(document):
    return valid(document.data, schema(), schema())


def test_the_file_that_editors_read_is_up_to_date():
    assert PATH.read_text() == text(), "write it again: PATH.write_text(text())"


def test_every_key_is_described():
    found = dict(keys(schema()))
    assert len(found) > 50
    assert not [key for key, description in found.items() if not description]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_examples_are_as_the_schema_says(path):
    assert said(read(path, noun="pipeline"))
    first = path.read_text().splitlines()[0]
    assert first == "# yaml-language-server: $schema=../../src/headgate/engine/pipeline/schema.json"
    assert (path.parent / first.split("=")[1]).resolve() == PATH


@pytest.mark.parametrize(
    ("old", "new", "rules"),
    [
        (old, new, rules)
        for old, new, _, rules in MISTAKES
        if old and "YAML" not in rules[0] and "once" not in rules[0]
    ],
)
def test_an_editor_sees_the_mistakes_that_show_in_a_single_value(tmp_path, old, new, rules):
    path = tmp_path / "p.yaml"
    path.write_text(SMALL)
    assert said(read(path, noun="pipeline"))
    path.write_text(SMALL.replace(old, new, 1))
    beyond = any(word in rule for word in BEYOND for rule in rules)
    assert said(read(path, noun="pipeline")) == beyond


def test_the_schema_is_plain_json():
    assert json.loads(PATH.read_text()) == schema()
