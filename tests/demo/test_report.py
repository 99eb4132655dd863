import json
import re

import pytest

from headgate.bench.recorded import Ran
from headgate.demo.market import CLASSES, queries
from headgate.demo.report import document, rows, summary, write
from headgate.demo.rounds import SECONDS, STEPS, WAYS, Fared, Look, Outcome, Round, arrivals, load_at


def fared(cls, late, response, shed):
    """A class whose results all took the same time, of which a share was dropped all the time."""
    runs = [Ran(at / 4 + 0.1, 10, 10 * response, response) for at in range(round(4 * SECONDS))]
    looks = [
        Look(at, round(100 * (1 - shed) * at), round(100 * shed * at), 500) for at in (0.0, SECONDS / 2, SECONDS)
    ]
    return Fared(cls, 20, 10 * len(runs), response, response, late, runs, looks, response)


@pytest.fixture
def outcome():
    slow = [fared(cls, 1.0, 3 * cls.target, 0.0) for cls in CLASSES]
    quick = [fared(cls, 0.0, cls.target / 2, 0.25) for cls in CLASSES]
    return Outcome(1000.0, [Round(way, found) for way, found in zip(WAYS, (slow, quick), strict=True)])


def test_there_are_sixty_queries_in_three_classes():
    listed = queries()
    assert len(listed) == len({query.name for query in listed}) == 60
    assert {query.cls for query in listed} == {cls.name for cls in CLASSES}


def test_the_load_rises_to_three_times_the_capacity():
    times = arrivals(1000.0)
    assert (times[1:] >= times[:-1]).all()
    begin = 0.0
    for seconds, load in STEPS:
        came = ((times >= begin) & (times < begin + seconds)).sum()
        assert came == pytest.approx(1000 * load * seconds, rel=0.1)
        assert load_at(begin) == load
        begin += seconds
    assert STEPS[-1][1] == load_at(SECONDS) == 3


def test_a_class_keeps_its_target_if_99_percent_of_its_results_are_within_it():
    cls = CLASSES[0]
    assert fared(cls, 0.01, 0.1, 0.0).kept
    assert not fared(cls, 0.011, 0.1, 0.0).kept
    assert not fared(cls, None, 0.1, 0.0).kept


def test_the_table_says_who_missed_and_what_was_lost(outcome):
    found = rows(outcome)
    assert [row[0] for row in found] == ["FIFO", "", "", "DILoS", "", ""]
    assert found[0][1:] == ("alerts", "1 s", "3 s", "3 s", "0 %", "0.0 %", "500, 3 s", "missed")
    assert found[3][1:] == ("alerts", "1 s", "500 ms", "500 ms", "100 %", "25.0 %", "–", "kept")
    assert summary(outcome) == "Under FIFO no class kept its target. Under DILoS every class kept its target."


def test_the_page_needs_nothing_from_elsewhere(outcome, tmp_path):
    page = write(outcome, tmp_path / "new" / "folder")
    text = page.read_text()
    assert not re.findall(r"https?:|//\w|<script|<link|<img|@import", text)
    assert text.count("<svg") == 2
    assert json.loads((page.parent / "report.json").read_text()) == document(outcome)


def test_a_class_without_results_has_a_row_and_is_drawn(outcome, tmp_path):
    cls = CLASSES[0]
    none = Fared(cls, 20, 0, None, None, None, [], [Look(0.0, 0, 0, 0), Look(SECONDS, 0, 0, 9)], 30.0)
    found = Outcome(1000.0, [Round(outcome.rounds[0].way, [none, *outcome.rounds[0].classes[1:]])])
    assert rows(found)[0][1:] == ("alerts", "1 s", "–", "–", "0 %", "0.0 %", "9, 30 s", "missed")
    assert write(found, tmp_path).exists()


def test_a_load_that_was_not_too_much_is_not_taken_for_one(outcome):
    assert "run the demonstration again" not in summary(outcome)
    enough = Outcome(1000.0, [Round(WAYS[0], outcome.rounds[1].classes), outcome.rounds[1]])
    assert summary(enough).endswith("while it was measured what it can do; run the demonstration again.")
