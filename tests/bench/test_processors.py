"""Processors for the engines of a benchmark."""

import os
import subprocess
import sys

import pytest

from headgate.bench.balance import _checks
from headgate.bench.processors import own, starting_on

SAYS = [sys.executable, "-c", "import os; print(sorted(os.sched_getaffinity(0)))"]
chosen = pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system lets nobody choose processors")


def started():
    return subprocess.run(SAYS, capture_output=True, text=True, check=True).stdout.strip()


@chosen
def test_what_is_started_meanwhile_has_one_processor_and_what_comes_later_all():
    before = sorted(os.sched_getaffinity(0))
    [last] = own(len(before))[-1:]
    with starting_on(last):
        assert started() == str([last])
    assert started() == str(before)
    with starting_on(None):
        assert started() == str(before)


@chosen
def test_there_are_as_many_as_asked_for_or_none():
    there = len(os.sched_getaffinity(0))
    assert len(set(own(there))) == there
    assert own(there + 1) == ()


def test_what_a_second_node_saves_cannot_be_judged_where_both_have_the_same_processor():
    row = {"before": 0.5, "lost": 0, "twice": 0, "class": "gold"}
    rows = [{**row, "way": "queries stay", "after": 0.5}, {**row, "way": "balanced", "after": 0.1}]
    verdicts = {apart: [check.ok for check in _checks(rows, apart=apart)] for apart in (True, False)}
    assert verdicts[True][1:] == [True, True, True]
    assert verdicts[False][1:] == [None, True, True]
