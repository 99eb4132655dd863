"""Generated streams are functions of the seed and the number, and Nexmark's three fit each other."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.source.intake import fed
from headgate.engine import source
from headgate.engine.source.chance import below, uniform

COUNT = 20_000


@pytest.fixture(scope="module")
def house():
    """The three streams of one auction house."""
    return {kind: fed(source.nexmark(kind, count=COUNT, rate=1000)).rows for kind in ("persons", "auctions", "bids")}


def numbers(kind, rows):
    return source.nexmark(kind).events(np.arange(rows.num_rows))


@given(st.sampled_from(["ticks", "persons", "auctions", "bids"]), st.integers(0, 10**9), st.integers(1, 50))
def test_a_tuple_does_not_depend_on_those_made_with_it(kind, first, size):
    made = source.ticks(seed=3) if kind == "ticks" else source.nexmark(kind, seed=3)
    n = np.arange(first, first + size)
    n = n if kind == "ticks" else made.events(n)
    times = made.schedule.times(n)
    together = made.rows(n, times)
    apart = [made.rows(n[i : i + 1], times[i : i + 1]) for i in range(size)]
    assert together.equals(pa.concat_tables(apart))


@pytest.mark.parametrize("make", [source.ticks, lambda **how: source.nexmark("bids", **how)])
def test_the_seed_makes_the_stream(make):
    same = [fed(make(seed=seed, count=500)).rows for seed in (1, 1, 2)]
    assert same[0].equals(same[1])
    assert not same[0].equals(same[2])


def test_chance_is_even_and_purposes_are_independent():
    n = np.arange(100_000)
    one, other = uniform(0, "one", n), uniform(0, "other", n)
    assert one.min() >= 0
    assert one.max() < 1
    assert np.histogram(one, 10, (0, 1))[0] == pytest.approx(10_000, rel=0.05)
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.02
    assert abs(np.corrcoef(one[1:], one[:-1])[0, 1]) < 0.02
    assert set(below(0, "die", n, 6).tolist()) == set(range(6))


def test_ticks_have_hot_symbols_and_prices_that_wander():
    rows = fed(source.ticks(symbols=50, count=50_000, rate=10_000)).rows
    counts = sorted((n["counts"] for n in pc.value_counts(rows["sym"]).to_pylist()), reverse=True)
    assert len(counts) == 50
    assert counts[0] > 10 * counts[-1]
    assert set(rows["side"].to_pylist()) == {"B", "S"}
    assert pc.min(rows["vol"]).as_py() >= 100
    prices = rows.filter(pc.field("sym") == "AAA")["price"].to_numpy()
    assert prices.min() > 0
    assert np.abs(np.diff(np.log(prices))).max() < 0.01 < np.log(prices.max() / prices.min())


def test_event_times_are_due_times_less_the_disorder():
    rows = fed(source.ticks(rate=100, count=1000, disorder="2s", start="2026-03-01T00:00:00Z")).rows
    first = pa.scalar("2026-03-01T00:00:00Z").cast(rows.schema.field("ts").type).value
    behind = np.arange(1000) / 100 - (rows["ts"].cast(pa.int64()).to_numpy() - first) / 1e6
    assert behind.min() > -1e-6
    assert 1.9 < behind.max() <= 2.000001
    assert (np.diff(behind) > 0.01).any()


def test_of_50_events_one_is_a_person_three_are_auctions_and_the_rest_bids(house):
    assert {kind: rows.num_rows for kind, rows in house.items()} == {"persons": 400, "auctions": 1200, "bids": 18400}
    every = np.concatenate([numbers(kind, rows) for kind, rows in house.items()])
    assert sorted(every.tolist()) == list(range(COUNT))


@pytest.mark.parametrize(
    ("kind", "column", "of"),
    [("auctions", "seller", "persons"), ("bids", "bidder", "persons"), ("bids", "auction", "auctions")],
)
def test_what_an_event_refers_to_has_come_before_it(house, kind, column, of):
    came = dict(zip(house[of]["id"].to_pylist(), numbers(of, house[of]).tolist(), strict=True))
    referred = [came[identity] for identity in house[kind][column].to_pylist()]
    assert (np.array(referred) < numbers(kind, house[kind])).all()


def test_ids_are_distinct_and_ascend(house):
    for kind in ("persons", "auctions"):
        assert house[kind]["id"].to_pylist() == list(range(1000, 1000 + house[kind].num_rows))


def test_half_of_the_bids_are_for_hot_auctions_and_three_quarters_by_hot_bidders(house):
    auction, bidder = (house["bids"][name].to_numpy() - 1000 for name in ("auction", "bidder"))
    assert (auction % 100 == 0).mean() == pytest.approx(0.5, abs=0.03)
    assert (bidder % 100 == 1).mean() == pytest.approx(0.75, abs=0.06)


def test_events_of_all_kinds_follow_one_clock(house):
    for kind, rows in house.items():
        passed = rows["dateTime"].cast(pa.int64()).to_numpy() - house["persons"]["dateTime"][0].value
        np.testing.assert_array_equal(passed, numbers(kind, rows) * 1000)


def test_an_auction_ends_after_it_begins_and_asks_for_more_than_its_first_bid(house):
    rows = house["auctions"]
    assert pc.all(pc.less(rows["dateTime"], rows["expires"])).as_py()
    assert pc.all(pc.less(rows["initialBid"], rows["reserve"])).as_py()
    assert set(rows["category"].to_pylist()) == set(range(10, 15))


def test_a_bid_names_a_known_channel_or_one_whose_number_mostly_stands_in_the_address(house):
    bids = house["bids"].select(["channel", "url"]).to_pylist()
    hot = [bid for bid in bids if not bid["channel"].startswith("channel-")]
    others = [bid for bid in bids if bid["channel"].startswith("channel-")]
    assert {bid["channel"] for bid in hot} == {"Google", "Facebook", "Baidu", "Apple"}
    assert len(hot) / len(bids) == pytest.approx(0.5, abs=0.03)
    with_id = [bid for bid in others if re.search(r"[&?]channel_id=\d+$", bid["url"])]
    assert len(with_id) / len(others) == pytest.approx(0.9, abs=0.03)
    assert all(re.match(r"https://www\.nexmark\.com/\w+/\w+/\w+/item\.htm\?query=1", bid["url"]) for bid in bids)
