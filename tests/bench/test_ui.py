"""What `headgate bench ui` makes of its rounds."""

import os
import subprocess
import sys

import numpy as np
import pytest

from headgate.bench.rivals.tree import used
from headgate.bench.ui import checks, costs, interval


def rows(*pairs):
    """Rounds by their processor time watched and alone: all but 5 s of the driver, and 0.1 s of the server."""
    return [
        {"round": i, "served": served, "cpu": cpu, "driver": cpu - 5, "server": 0.1 * served, "longest_gap": 1.0}
        for i, pair in enumerate(pairs)
        for served, cpu in zip((True, False), pair, strict=True)
    ]


def test_what_is_lost_is_the_median_over_pairs():
    found = {each["of"]: each["lost"] for each in costs(rows((12.5, 10.0), (10.0, 10.0), (20.0, 10.0)))}
    assert found == pytest.approx({"cpu": 20.0, "driver": 20.0, "server": 100 / 101})


def test_the_goal_is_for_all_processes():
    lost, _, server, gap = checks(rows((10.1, 10.0), (10.3, 10.0), (10.4, 10.0)))
    assert (lost.value, lost.ok) == (pytest.approx(100 * 3 / 103), False)
    assert server.ok
    assert gap.ok


def test_the_driver_is_judged_by_the_upper_end_of_the_interval():
    _, driver, *_ = checks(rows((10.0, 10.0), (10.0, 10.0), (11.0, 10.0)))
    assert (driver.value, driver.ok) == (pytest.approx(100 / 11), False)


@pytest.mark.parametrize(("n", "ranks"), [(1, (0, 0)), (5, (0, 4)), (6, (0, 5)), (10, (1, 8)), (30, (9, 20))])
def test_the_interval_of_a_median_is_between_values_of_known_ranks(n, ranks):
    assert interval(list(range(n))[::-1]) == ranks


def test_the_interval_has_the_median_in_19_cases_of_20():
    generator = np.random.default_rng(1)
    found = [interval(generator.exponential(size=30).tolist()) for _ in range(2000)]
    assert 0.93 < np.mean([low <= np.log(2) <= high for low, high in found]) < 0.98


@pytest.mark.skipif(used(os.getpid()) is None, reason="the system does not say")
def test_a_process_that_stands_apart_is_not_counted():
    worked = "sum(range(5_000_000)); print(flush=True); input()"
    command = [sys.executable, "-c", worked]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
        child.stdout.readline()
        alone, together = used(os.getpid(), child.pid), used(os.getpid())
        child.communicate(b"\n")
    assert together.cpu > alone.cpu
    assert together.memory > alone.memory
