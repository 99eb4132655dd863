"""What of shedding can be said in a pipeline file: how tuples are chosen, whose, and which are worth more."""

import pytest

from engine.pipeline.pipelines import SMALL, message
from headgate import Shed
from headgate.engine.pipeline import load

CLASSES = "classes: {alerts: {delay_target: 1s, protect: PROTECT}}\n"


def protecting(protect):
    return CLASSES.replace("PROTECT", protect) + SMALL


def test_the_dropper_and_the_place_are_those_that_are_named(folder):
    file = folder / "p.yaml"
    file.write_text("shed: {mode: separate, dropper: stratified, place: lsrm}\n" + SMALL)
    assert load(file).shed == Shed("separate", dropper="stratified", place="lsrm")
    file.write_text("shed: dilos\n" + SMALL)
    assert load(file).shed == Shed()


def test_a_class_protects_values_of_a_column(folder):
    file = folder / "p.yaml"
    file.write_text(protecting("{ticks: {sym: [AAA, 7]}}"))
    assert load(file).classes["alerts"]["protect"] == {"ticks": {"sym": ["AAA", 7]}}


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        (protecting("[AAA]"), ["what is protected is told by stream", "{ticks: {sym: [AAA, BBB]}}"]),
        (protecting("{ticks: sym}"), ["what is protected of stream 'ticks' is told by one column"]),
        (protecting("{ticks: {sym: AAA}}"), ["column 'sym' protects some values, texts or numbers"]),
        (protecting("{tick: {sym: [AAA]}}"), ["tuples of one of streams", "'tick'", "There is ticks only."]),
        ("shed: {dropper: stratify}\n" + SMALL, ["dropper", "stratify", "stratified"]),
        ("shed: {place: lsmr}\n" + SMALL, ["place", "lsmr", "lsrm"]),
    ],
)
def test_a_mistake_is_told_where_it_stands(text, said):
    found = message(text)
    assert ":1:" in found
    assert all(part in found for part in said), found
