"""Drop rates by position: decided once, recorded first, counted as the reader drops."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.log.logs import feed, opened
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Progress
from headgate.engine.reader import JobInput, StreamInput, Utility, seed_of, tuples, utility_of
from headgate.engine.thinning import Thinning, kept, thinned
from headgate.engine.utility import Masses, Protected, protections
from headgate.errors import InputError
from headgate.shed.droppers import STRATIFIED, UNSHED, Drop, Random, Semantic, Stratified, Unprotected

LENGTH = 480
KEYS = np.arange(LENGTH) % 3
UTILITY = Utility("k", (1,), 60, 5)
HOWS = st.sampled_from(["", STRATIFIED, UTILITY.text, UTILITY._replace(low=99).text])
DROPS = st.builds(Drop, st.integers(1, 99), HOWS) | st.just(UNSHED)
DECISIONS = st.lists(st.tuples(st.integers(1, 40), DROPS), max_size=12)


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    """A stream whose tuples have the keys 0, 1 and 2 in turn, in trains of several lengths."""
    made = opened(tmp_path_factory.mktemp("log"))
    feed(made, [range(i, j) for i, j in ((0, 7), (7, 150), (150, 151), (151, LENGTH))])
    yield made
    made.manifest.close()


def decided(log, decisions):
    """Rates that were decided one after the other, and what holds for every position by a plain list."""
    made, drops = Thinning(log, 0), []
    for length, drop in decisions:
        made.decide(len(drops) + length, drop)
        drops += [drop] * length
    return made, drops


def dropped(position, drop):
    """Whether one tuple goes, by the droppers themselves."""
    at, seed, rate = np.array([position]), seed_of("s"), drop.percent / 100
    if drop.how == STRATIFIED:
        return not Stratified(seed).keep(at, rate)[0]
    if drop.how:
        utility = utility_of(drop.how)
        rate = (utility.high if KEYS[position] == 1 else utility.low) / 100
    return not Random(seed).keep(at, rate)[0]


@given(DECISIONS, st.integers(0, LENGTH), st.integers(0, LENGTH))
def test_every_position_has_the_rate_that_was_decided_first(log, decisions, low, high):
    made, drops = decided(log, decisions)
    made.decide(len(drops) // 2, Drop(77))
    high = min(high, len(drops))
    found = [drop for first, end, drop in made.parts(low, high) for _ in range(first, end)]
    assert found == drops[low:high]
    assert made.shed(low, high) == sum(dropped(i, drops[i]) for i in range(low, high))


@given(DECISIONS, st.integers(0, LENGTH), st.integers(0, LENGTH))
def test_what_is_counted_is_what_the_reader_drops(log, decisions, low, high):
    made, drops = decided(log, decisions)
    high = max(low, min(high, len(drops)))
    given_slices = [
        (s.file, s.offset + first - s.first, end - first, first, 0, [*drop])
        for s in log.slices(low, high)
        for first, end, drop in made.parts(s.first, s.first + s.count)
    ]
    named = {"streams": {"s": {"slices": given_slices, "time": None}}}
    read = [row for table in tuples(named, "s", ["_position", "_kept"]) for row in table.to_pylist()]
    assert [row["_position"] for row in read] == [i for i in range(low, high) if not dropped(i, drops[i])]
    assert len(read) == high - low - made.shed(low, high)
    for row in read:
        drop = drops[row["_position"]]
        utility = utility_of(drop.how)
        protected = KEYS[row["_position"]] == 1
        percent = drop.percent if utility is None else utility.high if protected else utility.low
        assert row["_kept"] == pytest.approx(1 - percent / 100)


@given(DECISIONS, st.integers(0, 500))
def test_steps_that_were_recorded_say_the_same_and_what_is_forgotten_is_not_read_again(log, decisions, before):
    made, end = Thinning(log, 0), 0
    steps = []
    for length, drop in decisions:
        end += length
        if step := made.decide(end, drop):
            steps.append(step)
    again = Thinning(log, end, steps)
    assert again.parts(0, end) == made.parts(0, end)
    kept_from = again.forget(before)
    assert again.parts(before, end) == made.parts(before, end)
    if kept_from is not None:
        rest = Thinning(log, end, [s for s in steps if s[0] >= kept_from])
        assert rest.parts(before, end) == made.parts(before, end)


def test_a_rate_is_recorded_before_the_job_and_only_where_it_is_new(log, tmp_path):
    manifest = Manifest(tmp_path / "manifest.db")
    manifest.enter("q", {}, Progress(cursors={"s": 0}))
    rates = {"s": Thinning(log, 0)}
    first, then = Drop(30), Drop(50, STRATIFIED)
    given_input = JobInput({"s": StreamInput((("a", 0, 10, 0, 5, UNSHED), ("b", 2, 6, 10, 7, UNSHED)), "t")})
    found = thinned(given_input, rates, {"s": first}, "q", manifest)
    assert found.streams["s"].slices == (("a", 0, 10, 0, 5, first), ("b", 2, 6, 10, 7, first))
    assert manifest.rates.thinned(["q"]) == {"q": {"s": [(0, first)]}}
    longer = JobInput({"s": StreamInput((("b", 0, 12, 8, 7, UNSHED),), "t")})
    found = thinned(longer, rates, {"s": then}, "q", manifest)
    # Positions up to 16 have their rate already, and the dropper that goes with it.
    assert found.streams["s"].slices == (("b", 0, 8, 8, 7, first), ("b", 8, 4, 16, 7, then))
    assert manifest.rates.thinned(["q"]) == {"q": {"s": [(0, first), (16, then)]}}
    assert kept(found) == pytest.approx(1 - (8 * 30 + 4 * 50) / 1200)
    thinned(longer, rates, {"s": then}, "q", manifest)
    manifest.rates.forget("q", "s", 16)
    assert manifest.rates.thinned(["q"]) == {"q": {"s": [(16, then)]}}
    manifest.close()


def test_a_cohort_has_rates_and_whoever_leaves_it_takes_them_along(tmp_path):
    manifest = Manifest(tmp_path / "manifest.db")
    ten, twenty, thirty = Drop(10), Drop(20, STRATIFIED), Drop(30, UTILITY.text)
    for name in ("p", "q"):
        manifest.enter(name, {}, Progress(cursors={"s": 4}))
        manifest.rates.thin(name, "s", 0, ten)
    cohort = manifest.cohorts.join("s", 4, ["p", "q"])
    manifest.rates.thin(f"#{cohort}", "s", 4, twenty)
    assert manifest.rates.thinned(["p", "q"]) == {name: {"s": [(0, ten), (4, twenty)]} for name in ("p", "q")}
    manifest.cohorts.leave(["p"])
    manifest.rates.thin(f"#{cohort}", "s", 9, thirty)
    steps = [(0, ten), (4, twenty)]
    assert manifest.rates.thinned(["p", "q"]) == {"p": {"s": steps}, "q": {"s": [*steps, (9, thirty)]}}
    manifest.remove("q")
    manifest.remove("p")
    manifest.enter("p", {}, Progress(cursors={"s": 4}))
    assert manifest.rates.thinned(["p", "q"]) == {}
    manifest.close()


# Tuples that are worth more.


def test_a_fifth_of_all_is_a_quarter_of_the_eight_in_ten_that_nobody_protects():
    protected = Protected("sym", ("A", "B"))
    assert protected.drop(20, 0.8) == Drop(20, Utility("sym", ("A", "B"), 25, 0).text)
    assert protected.drop(0, 0.8) == UNSHED
    # Something of each kind stays.
    assert protected.drop(80, 0.8) == Drop(80, Utility("sym", ("A", "B"), 99, 0).text)
    assert protected.drop(90, 0.8) == Drop(90, Utility("sym", ("A", "B"), 99, 50).text)


@given(st.integers(0, 99), st.integers(0, 4))
def test_the_reader_drops_by_utility_what_the_semantic_dropper_does(log, low, percent):
    drop = Drop(1, Utility("k", (1,), low, percent).text)
    made = Thinning(log, LENGTH, [(0, drop)])
    mass = 2 / 3
    rate = mass * low / 100
    positions = np.arange(LENGTH)
    stay = Semantic(Unprotected((1,)), mass, seed_of("s")).keep(positions, rate, KEYS)
    if not percent:
        assert made.shed(0, LENGTH) == LENGTH - int(stay.sum())
    assert made.shed(0, LENGTH) >= LENGTH - int(stay.sum())


def test_the_part_that_is_not_protected_is_that_of_the_end_of_the_stream(log):
    masses, protected = Masses(), Protected("k", (1,))
    assert masses.of("s", protected) == 1.0
    masses.take(log, protected)
    assert masses.of("s", protected) == pytest.approx(2 / 3)
    assert masses.of("s", Protected("k", (2,))) == 1.0


@pytest.mark.parametrize(
    ("given_protect", "got"),
    [
        ({"s": {}}, "{}"),
        ({"s": {"k": [1], "v": [2]}}, "{'k': [1], 'v': [2]}"),
        ({"s": {"k": "one"}}, "one"),
        ({"s": {"k": []}}, "[]"),
        ({"s": {"k": [None]}}, "[None]"),
    ],
)
def test_what_is_protected_is_told_by_values_of_one_column(given_protect, got):
    with pytest.raises(InputError) as refused:
        protections(given_protect)
    assert str(refused.value.got) == got


@pytest.mark.parametrize(("column", "values", "got"), [("sym", (1,), "'sym'"), ("k", ("one",), "['one']")])
def test_what_is_protected_is_in_the_stream(log, column, values, got):
    with pytest.raises(InputError) as refused:
        Protected(column, values).check("s", log.schema)
    assert str(refused.value.got) == got
    Protected("k", ("7",)).check("s", log.schema)


def test_an_engine_that_died_is_told_from_one_that_was_stopped(tmp_path):
    expected = True  # where there is nothing yet, nothing is out of order
    for ends_well in (True, False, True):
        manifest = Manifest(tmp_path / "manifest.db")
        assert manifest.left_in_order() == expected
        manifest.enter("q", {}, Progress(cursors={"s": 4}))
        if ends_well:
            manifest.leave_in_order()
        expected = ends_well
        manifest.close()
