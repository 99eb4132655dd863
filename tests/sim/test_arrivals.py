"""Arrival processes.

Seeds are fixed, so a test passes or fails always. Tolerances are five standard deviations of the quantity that is
measured, worked out from theory next to it: a right process misses one with a probability below one in a million.
"""

import math
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.errors import InputError
from headgate.sim import arrivals as module
from headgate.sim.arrivals import (
    CHUNK,
    BModel,
    Constant,
    OnOff,
    ParetoIntervals,
    Poisson,
    Ramp,
    Steps,
    take,
    until,
)

PROCESSES = [
    Poisson(100.0),
    Constant(100.0),
    OnOff(),
    BModel(255.0),
    Steps(((0.0, 50.0), (20.0, 0.0), (30.0, 200.0))),
    Ramp(10.0, 200.0, 60.0),
    ParetoIntervals(80.0, 130.0, 1.0),
]
each_process = pytest.mark.parametrize("process", PROCESSES, ids=lambda p: type(p).__name__)


def generator(seed=1):
    return np.random.default_rng(seed)


def five_sigma(variance):
    return pytest.approx(0, abs=5 * math.sqrt(variance))


def dispersion(times, end):
    """Variance over mean of the counts per second; 1 for a Poisson process."""
    counts = np.histogram(times, bins=np.arange(0, math.floor(end) + 1))[0]
    return counts.var() / counts.mean()


@each_process
def test_times_ascend_from_zero_across_chunks(process):
    times = take(process, 20_000, generator())
    assert times.dtype == np.float64
    assert len(times) == 20_000
    assert times[0] >= 0
    assert np.all(np.diff(times) >= 0)


@each_process
def test_same_seed_gives_the_same_bits(process):
    assert take(process, 10_000, generator(7)).tobytes() == take(process, 10_000, generator(7)).tobytes()


@pytest.mark.parametrize("process", [p for p in PROCESSES if not isinstance(p, Constant)], ids=str)
def test_different_seeds_give_different_times(process):
    assert not np.array_equal(take(process, 100, generator(1)), take(process, 100, generator(2)))


@each_process
@settings(max_examples=10, deadline=None)
@given(n=st.integers(0, 9_000), more=st.integers(0, 9_000), seed=st.integers(0, 2**32 - 1))
def test_fewer_arrivals_are_a_prefix_of_more(process, n, more, seed):
    few, many = take(process, n, generator(seed)), take(process, n + more, generator(seed))
    assert len(few) == n
    assert np.array_equal(few, many[:n])


@each_process
def test_until_is_what_take_gives_before_the_end(process):
    times = until(process, 50.0, generator())
    first = take(process, len(times) + 1, generator())
    assert np.array_equal(times, first[:-1])
    assert first[-1] >= 50.0


@each_process
def test_no_chunk_is_empty_or_grows_with_the_run(process):
    # Of these processes, on/off has the largest bound: 4 * CHUNK with all sources on all the time.
    sizes = [len(chunk) for chunk in islice(process.chunks(generator()), 100)]
    assert min(sizes) > 0
    assert max(sizes) <= 4 * CHUNK


@pytest.mark.parametrize("process", [Poisson(3.0), Constant(3.0), PROCESSES[4], PROCESSES[5]], ids=str)
def test_the_size_of_chunks_does_not_change_the_times(process, monkeypatch):
    expected = take(process, 9_000, generator())
    monkeypatch.setattr(module, "CHUNK", 700)
    assert np.array_equal(take(process, 9_000, generator()), expected)


def test_take_of_nothing_and_until_zero_are_empty():
    assert take(Poisson(1.0), 0, generator()).size == 0
    assert until(Poisson(1.0), 0.0, generator()).size == 0


def test_constant_arrivals_come_at_multiples_of_the_gap_from_the_first_gap_on():
    assert take(Constant(4.0), 5, generator()).tolist() == [0.25, 0.5, 0.75, 1.0, 1.25]
    assert take(Constant(3.0), 2 * CHUNK, generator())[-1] == 2 * CHUNK / 3
    assert len(until(Constant(4.0), 1.0, generator())) == 3  # the arrival at 1.0 is not before the end


def test_poisson_counts_have_the_rate_as_mean_and_as_variance():
    end = 2_000.0
    times = until(Poisson(30.0), end, generator())
    assert len(times) - 30.0 * end == five_sigma(30.0 * end)
    # The variance of n equal counts has a relative standard deviation of sqrt(2 / n).
    assert dispersion(times, end) - 1 == five_sigma(2 / end)


def test_on_off_has_its_mean_rate_in_the_long_run():
    # With a finite variance of the periods (alpha > 2), the time on in [0, t] has the variance t * v of an
    # alternating renewal process; n sources send at their rate in it, plus Poisson noise. At alpha = 1.4 the mean
    # converges too slowly for a test.
    on, off, alpha, n, rate, end = 1.0, 4.0, 3.0, 16, 10.0, 20_000.0
    process = OnOff(n, alpha, on, off, rate)
    spread = ((alpha - 1) / alpha) ** 2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))  # variance of a mean of 1
    v = 2 * spread * (on * off) ** 2 / (on + off) ** 3
    expected = process.mean_rate() * end
    assert process.mean_rate() == 32.0
    assert len(until(process, end, generator())) - expected == five_sigma(n * rate**2 * end * v + expected)


def test_on_off_is_much_burstier_than_poisson():
    times = take(OnOff(), 20_000, generator())
    poisson = take(Poisson(32.0), 20_000, generator())
    assert dispersion(times, times[-1]) > 3
    assert dispersion(poisson, poisson[-1]) < 1.5


def test_on_off_silences_are_pareto_with_the_given_shape_and_mean():
    # One source so fast that a gap above 0.1 s can only be an off-period, the shortest of which is 1.2 s. To each
    # gap the waits at both ends of the silence add 2 ms on average.
    alpha, mean_off, wait = 2.5, 2.0, 2e-3
    gaps = np.diff(until(OnOff(1, alpha, 1.0, mean_off, 1_000.0), 3_000.0, generator()))
    silences = gaps[gaps > 0.1] - wait
    scale = mean_off * (alpha - 1) / alpha
    variance = scale**2 * alpha / ((alpha - 1) ** 2 * (alpha - 2))
    assert silences.min() > scale - wait
    assert silences.mean() - mean_off == five_sigma(variance / len(silences))
    # Half of them are beyond the median; the share has the variance 1 / 4n.
    assert np.mean(silences > scale * 2 ** (1 / alpha)) - 0.5 == five_sigma(0.25 / len(silences))


def test_on_off_sources_start_on_as_often_as_they_are_on():
    # No period ends before 33 s, so the arrivals of the first instants count the sources that start on.
    n, rate, end, share = 2_000, 1_000.0, 0.05, 0.25
    expected = n * share * rate * end
    times = until(OnOff(n, 1.5, 100.0, 300.0, rate), end, generator())
    assert len(times) - expected == five_sigma((rate * end) ** 2 * n * share * (1 - share) + expected)


def test_b_model_epochs_have_exactly_their_arrivals():
    process = BModel(rate=255.0, bias=0.7, bin=0.5, levels=6)  # 32 s and 8,160 arrivals an epoch
    times = until(process, 320.0, generator())
    assert np.histogram(times, bins=np.arange(0, 321, 32))[0].tolist() == [8_160] * 10


def test_b_model_hands_the_fraction_of_an_arrival_on_to_the_next_epoch():
    process = BModel(rate=0.3, bin=0.5, levels=1)  # 1 s and 0.3 arrivals an epoch
    counts = np.histogram(until(process, 20.5, generator()), bins=np.arange(0, 21))[0]
    assert np.cumsum(counts).tolist() == [math.floor(0.3 * (i + 1)) for i in range(20)]


def test_b_model_bins_hold_the_products_of_the_biases():
    levels, bias, total = 5, 0.7, 320_000
    process = BModel(total / 2**levels, bias, 1.0, levels)
    times = take(process, total, generator())
    counts = np.sort(np.histogram(times, bins=np.arange(0, 2**levels + 1))[0])
    heavy = [i.bit_count() for i in range(2**levels)]
    products = np.sort([total * bias**k * (1 - bias) ** (levels - k) for k in heavy])
    assert np.all(np.abs(counts - products) < levels)  # a split rounds by less than 1


def test_b_model_puts_the_larger_part_on_either_side_as_often():
    process, epochs = BModel(rate=20.0, bias=0.9, bin=0.5, levels=1), 1_000  # 18 arrivals and 2, or 2 and 18
    counts = np.histogram(until(process, epochs, generator()), bins=np.arange(0, epochs + 0.5, 0.5))[0]
    assert np.mean(counts[::2] > counts[1::2]) - 0.5 == five_sigma(0.25 / epochs)


def test_b_model_is_bursty_unless_its_bias_is_even():
    assert dispersion(until(BModel(255.0), 512.0, generator()), 512) > 50
    assert dispersion(until(BModel(255.0, bias=0.5), 512.0, generator()), 512) < 1


def test_steps_have_the_rate_of_each_level_and_nothing_outside():
    process = Steps(((10.0, 200.0), (60.0, 0.0), (70.0, 40.0)))
    times = until(process, 570.0, generator())
    before, high, pause, low = np.histogram(times, bins=[0.0, 10.0, 60.0, 70.0, 570.0])[0]
    assert (before, pause) == (0, 0)
    assert high - 10_000 == five_sigma(10_000)
    assert low - 20_000 == five_sigma(20_000)
    assert process.mean_rate() == 40.0


times_and_rates = st.lists(
    st.tuples(st.floats(0.01, 100.0), st.one_of(st.just(0.0), st.floats(0.01, 1_000.0))), min_size=1, max_size=8
)


@settings(max_examples=50, deadline=None)
@given(levels=times_and_rates, last=st.floats(0.1, 100.0), seed=st.integers(0, 1_000))
def test_steps_are_the_unit_poisson_process_in_the_time_of_the_cumulative_rate(levels, last, seed):
    starts = np.cumsum([gap for gap, _ in levels])
    rates = [*(rate for _, rate in levels[:-1]), last]
    process = Steps(tuple(zip(starts.tolist(), rates, strict=True)))
    times = take(process, 2_000, generator(seed))
    level = np.searchsorted(starts, times, side="right") - 1
    mass = np.concatenate(([0.0], np.cumsum(np.diff(starts) * rates[:-1])))
    assert np.all(np.diff(times) >= 0)
    masses = mass[level] + (times - starts[level]) * np.array(rates)[level]
    assert np.allclose(masses, take(Poisson(1.0), 2_000, generator(seed)), rtol=1e-6, atol=1e-6)


@settings(max_examples=50, deadline=None)
@given(
    s=st.one_of(st.just(0.0), st.floats(0.01, 1_000.0)),
    e=st.floats(0.01, 1_000.0),
    d=st.floats(0.01, 100.0),
    seed=st.integers(0, 1_000),
)
def test_ramp_is_the_unit_poisson_process_in_the_time_of_the_cumulative_rate(s, e, d, seed):
    times = take(Ramp(s, e, d), 2_000, generator(seed))
    ramp, rest = np.minimum(times, d), np.maximum(times - d, 0.0)
    assert np.all(np.diff(times) >= 0)
    masses = s * ramp + (e - s) * ramp**2 / (2 * d) + e * rest
    assert np.allclose(masses, take(Poisson(1.0), 2_000, generator(seed)), rtol=1e-6, atol=1e-6)


def test_ramp_counts_follow_the_area_under_the_rate():
    process = Ramp(0.0, 400.0, 100.0)
    first, second, after = np.histogram(until(process, 150.0, generator()), bins=[0, 50, 100, 150])[0]
    assert first - 5_000 == five_sigma(5_000)
    assert second - 15_000 == five_sigma(15_000)
    assert after - 20_000 == five_sigma(20_000)
    assert process.mean_rate() == 400.0


@pytest.mark.parametrize(
    ("process", "end", "expected"),
    [
        (Steps(((0.0, 50.0), (100.0, 0.0))), 100.0, 5_000),
        (Steps(((5.0, 100.0), (105.0, 0.0), (200.0, 0.0))), 105.0, 10_000),
        (Ramp(200.0, 0.0, 100.0), 100.0, 10_000),
    ],
    ids=str,
)
def test_a_process_whose_last_rate_is_zero_ends(process, end, expected):
    times = take(process, 1_000_000, generator())
    assert len(times) - expected == five_sigma(expected)
    assert times[-1] <= end
    assert np.array_equal(until(process, 1e9, generator()), times)
    assert process.mean_rate() is None


@given(low=st.floats(0.001, 1e3), ratio=st.floats(1.001, 1e3), skew=st.floats(0.1, 5.0), seed=st.integers(0, 1_000))
def test_pareto_rates_stay_within_their_bounds_and_so_does_their_mean(low, ratio, skew, seed):
    process = ParetoIntervals(low, low * ratio, 1.0, skew)
    # low comes back through a logarithm or a power, so by an ulp or so below itself.
    floor = low * (1 - 1e-12)
    assert np.all(process.rates(100, generator(seed)) >= floor)
    assert np.all(process.rates(100, generator(seed)) <= process.high)
    assert floor <= process.mean_rate() <= process.high


@pytest.mark.parametrize("skew", [0.5, 1.0, 1.0 + 1e-9, 2.5])
def test_pareto_rates_have_the_analytic_mean(skew):
    process = ParetoIntervals(300.0, 800.0, 1.0, skew)
    rates = process.rates(100_000, generator())
    assert rates.mean() - process.mean_rate() == five_sigma(rates.var() / len(rates))


def test_pareto_means_at_skew_one_are_the_published_ones():
    assert round(ParetoIntervals(800.0, 1_300.0, 1.0).mean_rate()) == 1_010
    assert round(ParetoIntervals(300.0, 800.0, 1.0).mean_rate()) == 471
    assert ParetoIntervals(300.0, 800.0, 1.0, 1 + 1e-9).mean_rate() == pytest.approx(480 * math.log(8 / 3))


def test_pareto_intervals_have_the_mean_rate_and_the_spread_of_their_rates():
    process, end = ParetoIntervals(300.0, 800.0, 0.5), 500.0
    rates = process.rates(100_000, generator(2))
    counts = np.histogram(until(process, end, generator()), bins=np.arange(0, end + 0.5, 0.5))[0]
    # A count is Poisson at a random rate: its variance is that of the rate plus the mean.
    mean, variance = process.mean_rate() * 0.5, rates.var() * 0.25 + process.mean_rate() * 0.5
    assert counts.sum() - mean * len(counts) == five_sigma(variance * len(counts))
    # The counts are nearer to even than normal ones, so 2 / n bounds their variance's relative variance.
    assert counts.var() / variance - 1 == five_sigma(2 / len(counts))


NAN, INF = math.nan, math.inf


@pytest.mark.parametrize(
    ("make", "names"),
    [
        *[(lambda r=r: Poisson(r), "Poisson: rate") for r in (0.0, -1.0, NAN, INF)],
        *[(lambda r=r: Constant(r), "Constant: rate") for r in (0.0, -1.0, NAN, INF)],
        *[(lambda n=n: OnOff(sources=n), "OnOff: sources") for n in (0, -1, 1.5)],
        *[(lambda a=a: OnOff(alpha=a), "OnOff: alpha") for a in (1.0, 0.5, -2.0, NAN, INF)],
        *[(lambda m=m: OnOff(mean_on=m), "OnOff: mean_on") for m in (0.0, -1.0, NAN, INF)],
        *[(lambda m=m: OnOff(mean_off=m), "OnOff: mean_off") for m in (0.0, -1.0, NAN, INF)],
        *[(lambda r=r: OnOff(rate=r), "OnOff: rate") for r in (0.0, -1.0, NAN, INF)],
        *[(lambda r=r: BModel(r), "BModel: rate") for r in (0.0, -1.0, NAN, INF)],
        *[(lambda b=b: BModel(1.0, bias=b), "BModel: bias") for b in (0.49, 1.0, 65, NAN, INF)],
        *[(lambda b=b: BModel(1.0, bin=b), "BModel: bin") for b in (0.0, -1.0, NAN, INF)],
        *[(lambda n=n: BModel(1.0, levels=n), "BModel: levels") for n in (0, -1, 21, 2.5)],
        (lambda: Steps(()), "Steps: at least one"),
        (lambda: Steps(((0.0, 0.0), (1.0, 0.0))), "Steps: at least one"),
        *[(lambda t=t: Steps(((t, 1.0),)), "Steps: from_time") for t in (-1.0, NAN, INF)],
        *[(lambda r=r: Steps(((0.0, r),)), "Steps: rate") for r in (-1.0, NAN, INF)],
        *[(lambda t=t: Steps(((5.0, 1.0), (t, 2.0))), "Steps: each from_time") for t in (5.0, 4.0)],
        *[(lambda r=r: Ramp(r, 1.0, 1.0), "Ramp: start_rate") for r in (-1.0, NAN, INF)],
        *[(lambda r=r: Ramp(1.0, r, 1.0), "Ramp: end_rate") for r in (-1.0, NAN, INF)],
        (lambda: Ramp(0.0, 0.0, 1.0), "Ramp: start_rate or end_rate"),
        *[(lambda d=d: Ramp(1.0, 2.0, d), "Ramp: duration") for d in (0.0, -1.0, NAN, INF)],
        *[(lambda r=r: ParetoIntervals(r, 9.0, 1.0), "ParetoIntervals: low") for r in (0.0, -1.0, NAN, INF)],
        *[(lambda r=r: ParetoIntervals(1.0, r, 1.0), "ParetoIntervals: high") for r in (0.0, -1.0, NAN, INF)],
        *[(lambda r=r: ParetoIntervals(5.0, r, 1.0), "ParetoIntervals: low is below") for r in (5.0, 4.0)],
        *[(lambda i=i: ParetoIntervals(1.0, 2.0, i), "ParetoIntervals: interval") for i in (0.0, -1.0, NAN, INF)],
        *[(lambda s=s: ParetoIntervals(1.0, 2.0, 1.0, s), "ParetoIntervals: skew") for s in (0.0, -1.0, NAN, INF)],
        *[(lambda n=n: take(Poisson(1.0), n, generator()), "take: n") for n in (-1, 2.5)],
        *[(lambda e=e: until(Poisson(1.0), e, generator()), "until: end") for e in (-1.0, NAN, INF)],
    ],
)
def test_a_bad_parameter_is_refused_by_name_with_a_remedy(make, names):
    with pytest.raises(InputError) as refusal:
        make()
    assert refusal.value.rule.startswith(names)
    assert refusal.value.remedy.endswith(".")
