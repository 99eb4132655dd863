import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.log.manifest import Manifest, Progress
from headgate.engine.reader import JobInput, StreamInput, seed_of
from headgate.engine.thinning import Thinning, kept, thinned
from headgate.shed.droppers import Random

DECISIONS = st.lists(st.tuples(st.integers(1, 40), st.integers(0, 99)), max_size=12)


def decided(decisions):
    """Rates that were decided one after the other, and the rate of every position by a plain list."""
    made, rates = Thinning("s", 0), []
    for length, percent in decisions:
        made.decide(len(rates) + length, percent)
        rates += [percent] * length
    return made, rates


@given(DECISIONS, st.integers(0, 500), st.integers(0, 500))
def test_every_position_has_the_rate_that_was_decided_first(decisions, low, high):
    made, rates = decided(decisions)
    made.decide(len(rates) // 2, 77)
    high = min(high, len(rates))
    found = [percent for first, end, percent in made.parts(low, high) for _ in range(first, end)]
    assert found == rates[low:high]
    assert made.shed(low, high) == sum(
        not Random(seed_of("s")).keep(np.array([i]), rates[i] / 100)[0] for i in range(low, high)
    )


@given(DECISIONS, st.integers(0, 500))
def test_steps_that_were_recorded_say_the_same_and_what_is_forgotten_is_not_read_again(decisions, before):
    made, rates = Thinning("s", 0), 0
    steps = []
    for length, percent in decisions:
        rates += length
        if step := made.decide(rates, percent):
            steps.append(step)
    again = Thinning("s", rates, steps)
    assert again.parts(0, rates) == made.parts(0, rates)
    kept_from = again.forget(before)
    assert again.parts(before, rates) == made.parts(before, rates)
    if kept_from is not None:
        assert Thinning("s", rates, [s for s in steps if s[0] >= kept_from]).parts(before, rates) == made.parts(
            before, rates
        )


def test_a_rate_is_recorded_before_the_job_and_only_where_it_is_new(tmp_path):
    manifest = Manifest(tmp_path / "manifest.db")
    manifest.enter("q", {}, Progress(cursors={"s": 0}))
    rates = {"s": Thinning("s", 0)}
    given_input = JobInput({"s": StreamInput((("a", 0, 10, 0, 5, 0), ("b", 2, 6, 10, 7, 0)), "t")})
    found = thinned(given_input, rates, 30, "q", manifest)
    assert found.streams["s"].slices == (("a", 0, 10, 0, 5, 30), ("b", 2, 6, 10, 7, 30))
    assert manifest.thinned(["q"]) == {"q": {"s": [(0, 30)]}}
    longer = JobInput({"s": StreamInput((("b", 0, 12, 8, 7, 0),), "t")})
    found = thinned(longer, rates, 50, "q", manifest)
    # Positions up to 16 have their rate already.
    assert found.streams["s"].slices == (("b", 0, 8, 8, 7, 30), ("b", 8, 4, 16, 7, 50))
    assert manifest.thinned(["q"]) == {"q": {"s": [(0, 30), (16, 50)]}}
    assert kept(found) == pytest.approx(1 - (8 * 30 + 4 * 50) / 1200)
    thinned(longer, rates, 50, "q", manifest)
    manifest.forget_rates("q", "s", 16)
    assert manifest.thinned(["q"]) == {"q": {"s": [(16, 50)]}}
    manifest.close()


def test_a_cohort_has_rates_and_whoever_leaves_it_takes_them_along(tmp_path):
    manifest = Manifest(tmp_path / "manifest.db")
    for name in ("p", "q"):
        manifest.enter(name, {}, Progress(cursors={"s": 4}))
    manifest.thin("p", "s", 0, 10)
    manifest.thin("q", "s", 0, 10)
    cohort = manifest.join("s", 4, ["p", "q"])
    manifest.thin(f"#{cohort}", "s", 4, 20)
    assert manifest.thinned(["p", "q"]) == {name: {"s": [(0, 10), (4, 20)]} for name in ("p", "q")}
    manifest.leave(["p"])
    manifest.thin(f"#{cohort}", "s", 9, 30)
    assert manifest.thinned(["p", "q"]) == {"p": {"s": [(0, 10), (4, 20)]}, "q": {"s": [(0, 10), (4, 20), (9, 30)]}}
    manifest.remove("q")
    manifest.remove("p")
    manifest.enter("p", {}, Progress(cursors={"s": 4}))
    assert manifest.thinned(["p", "q"]) == {}
    manifest.close()


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
