"""A thread for each box: nothing lost, all time accounted for, and switches that cost more with more threads."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.sim.boxes import feeds, networks
from headgate.sim.boxes.lines import SECOND
from headgate.sim.boxes.threads import Threads, run_threads

FREE = Threads(quantum=0.001, switch=0.0, growth=0.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 6), st.integers(1, 4), st.sampled_from([1e-4, 1e-3, 2.5e-3]), st.integers(0, 20))
def test_nothing_is_lost_and_all_time_is_work_switching_or_idle(apps, depth, quantum, seed):
    chains = networks.chains(apps, depth, 1e-3, (networks.ANY,))
    feed = feeds.steady(50, 100.0, apps, np.random.default_rng(seed))
    report = run_threads(chains, feed, Threads(quantum))
    assert sorted(report.items.tolist()) == list(range(50))
    assert report.ended == report.spent.work + report.spent.worker + report.spent.idle
    assert report.spent.work == 50 * depth * SECOND // 1000


def test_a_tuple_alone_takes_a_switch_and_its_cost_at_each_box():
    chains = networks.chains(2, 3, 1e-3, (networks.ANY,))
    threads = Threads(quantum=0.01, switch=1e-5, growth=0.5)
    assert threads.switching(6) == 40_000
    assert run_threads(chains, feeds.together([1]), threads).at.tolist() == [3 * (1_000_000 + 40_000)]


def test_threads_share_the_processor_by_turns():
    chains = networks.chains(2, 1, 2e-3, (networks.ANY,))
    report = run_threads(chains, feeds.together([1, 1]), FREE)
    assert (report.at / SECOND).tolist() == [0.003, 0.004]


def test_a_box_hands_on_each_tuple_as_soon_as_it_is_done():
    chains = networks.chains(1, 2, 1e-3, (networks.ANY,))
    report = run_threads(chains, feeds.together([2]), FREE)
    assert (report.at / SECOND).tolist() == [0.002, 0.004]


def test_latency_grows_with_the_number_of_threads_though_the_load_does_not():
    def latency(apps):
        chains = networks.chains(apps, 5, 1e-4, (networks.ANY,))
        feed = feeds.steady(2000, 800.0, apps, np.random.default_rng(1))
        return run_threads(chains, feed, Threads()).latency

    assert latency(5) < latency(20) < latency(80)


def test_the_growth_of_switches_is_what_makes_it_so():
    chains = networks.chains(40, 5, 1e-4, (networks.ANY,))
    feed = feeds.steady(1000, 800.0, 40, np.random.default_rng(1))
    assert run_threads(chains, feed, FREE).latency < run_threads(chains, feed, Threads()).latency
    assert FREE.switching(200) == pytest.approx(0)
