"""Sinks that are taken over: whenever that happens, what is committed is there once and nothing else."""

import json
import os
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.live import until
from engine.sink.openings import opened, opening, run, table
from engine.sink.stepping import happening
from headgate.engine import sink
from headgate.engine.log.peeking import peek
from headgate.errors import HeadgateError, InputError, SupersededError

KINDS = {
    "parquet": lambda folder: sink.parquet(folder / "out", every=3600),
    "parquet at once": lambda folder: sink.parquet(folder / "out", every=0),
    "json lines": lambda folder: sink.jsonl(folder / "out" / "out.jsonl"),
}
OTHERS = [sink.memory(), sink.discard(), sink.console(), sink.callback(print), sink.foreach_batch(print)]


def values(folder):
    """All that a reader sees, of all instances."""
    out = folder / "out"
    found = [v for part in sorted(out.glob("part-*.parquet")) for v in pq.read_table(part)["value"].to_pylist()]
    for file in sorted(out.glob("[!.]*.jsonl")):
        found += [json.loads(line)["value"] for line in file.read_text().splitlines()]
    return found


def hidden(folder):
    """What is left of instances that were taken over, apart from the links that keep them away."""
    out = folder / "out"
    return [path for path in (*out.glob("_staged/*"), *out.glob(".*")) if not path.is_symlink()]


class Manifested:
    """What a manifest keeps of a query: the last receipt and what it stands for."""

    def __init__(self):
        self.receipt, self.values = None, []

    def commit(self, receipt, more):
        self.receipt, self.values = receipt, [*self.values, *more]


def program(make, manifest, instance="1"):
    """All that a writer does, until it learns that it was superseded."""
    writer = make()
    number = 0
    try:
        writer.open(opening(manifest.receipt, instance=instance))
        for more in ([1, 2], [], [3], [4, 5]):
            number += 1
            receipt = writer.stage(number, table(*more))
            if number != 3:
                # Of the third, the first attempt is not committed.
                manifest.commit(receipt, more)
                writer.publish(receipt)
            else:
                receipt = writer.stage(number, table(*more, 9))
                manifest.commit(receipt, [*more, 9])
                writer.publish(receipt)
                writer.tick(float("inf"))
        writer.stage(number + 1, table(6))
        writer.close()
    except SupersededError as error:
        with suppress(SupersededError):
            writer.close()
        return str(error)
    return None


def moments_of(make):
    """When a writer that nobody disturbs comes to each line for the first and for the last time."""
    with happening({}) as lines:
        program(make, Manifested())
    first = {line: moment for moment, line in reversed(list(enumerate(lines, start=1)))}
    last = {line: moment for moment, line in enumerate(lines, start=1)}
    return sorted({*first.values(), *last.values(), len(lines) + 1})


def check(folder, make, moments):
    """A writer that is fenced at one moment, and taken over at the same or a later one."""
    manifest, peeked = Manifested(), Manifested()

    def fence():
        make().fence(opening(instance="1"))

    def take_over():
        fence()
        if not taken:
            peeked.commit(manifest.receipt, manifest.values)
            taken.append(True)
            make().take_over(opening(peeked.receipt, instance="1"))

    taken = []
    fenced_at, taken_at = moments
    happens = {fenced_at: fence, taken_at: take_over} if taken_at > fenced_at else {fenced_at: take_over}
    with happening(happens):
        program(make, manifest)
    take_over()
    assert values(folder) == peeked.values
    # Whoever tries again learns why it cannot, and changes nothing.
    with pytest.raises(SupersededError, match="query 'big' was superseded"):
        make().open(opening(manifest.receipt, instance="1"))
    assert hidden(folder) == []
    make().take_over(opening(peeked.receipt, instance="1"))
    other = opened(make(), peeked.receipt, instance="2")
    run(other, 1, table(7))
    other.close()
    assert values(folder) == [*peeked.values, 7]


@pytest.mark.parametrize("kind", KINDS)
def test_a_writer_that_is_fenced_at_any_line_shows_nothing_afterwards(tmp_path, kind):
    moments = moments_of(lambda: KINDS[kind](tmp_path / "undisturbed"))
    assert len(moments) > 50
    for moment in moments:
        folder = tmp_path / str(moment)
        check(folder, lambda folder=folder: KINDS[kind](folder), (moment, moment))


@pytest.mark.parametrize("kind", KINDS)
@settings(deadline=None, max_examples=30)
@given(at=st.integers(1, 350), later=st.integers(1, 150))
def test_a_writer_goes_on_between_the_fence_and_the_taking_over_in_vain(tmp_path_factory, kind, at, later):
    folder = tmp_path_factory.mktemp("sink")
    check(folder, lambda: KINDS[kind](folder), (at, at + later))


class Crash(BaseException):
    """The end of the process that takes over."""


@pytest.mark.parametrize("kind", ["parquet", "json lines"])
@pytest.mark.parametrize("how", ["dies", "is overtaken"])
def test_a_taking_over_that_dies_or_is_overtaken_in_the_middle_is_done_again(tmp_path, kind, how):
    moment, going_on = 0, True
    while going_on:
        moment += 1
        folder, manifest = tmp_path / str(moment), Manifested()
        writer = opened(KINDS[kind](folder), instance="1")
        for number in (1, 2):
            receipt = writer.stage(number, table(number))
            manifest.commit(receipt, [number])
            if number == 1:
                writer.publish(receipt)
        abandoned(writer)
        # The writer may have gone on for a while.
        old = opening(manifest.receipt, instance="1")

        def again(old=old, folder=folder):
            if how == "dies":
                raise Crash
            KINDS[kind](folder).take_over(old)

        with warnings.catch_warnings(), happening({moment: again}) as lines:
            # Files are left open by who dies.
            warnings.simplefilter("ignore", ResourceWarning)
            with suppress(Crash):
                KINDS[kind](folder).take_over(old)
        going_on = len(lines) >= moment
        if going_on and how == "dies":
            KINDS[kind](folder).take_over(old)
        assert values(folder) == [1, 2]
        assert hidden(folder) == []
    assert moment > 20


def abandoned(writer):
    """Let go of files as they are."""
    for held in ("_owner", "_journal", "_file"):
        if found := getattr(writer, held, None):
            found.close()


@pytest.mark.parametrize("kind", KINDS)
def test_an_instance_that_never_wrote_anything_is_taken_over_and_cannot_begin(tmp_path, kind):
    writer = KINDS[kind](tmp_path)
    writer.fence(opening(instance="1"))
    writer.take_over(opening({"part": 4, "length": 9, "file": "out.0.jsonl"}, instance="1"))
    assert values(tmp_path) == []
    with pytest.raises(SupersededError):
        writer.open(opening(instance="1"))
    run(opened(writer, instance="2"), 1, table(1))
    writer.close()
    assert values(tmp_path) == [1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_instance_goes_on_after_a_restart_and_leaves_alone_what_others_wrote(tmp_path, kind):
    first = opened(KINDS[kind](tmp_path), instance="1")
    receipt = run(first, 1, table(1))
    first.close()
    second = opened(KINDS[kind](tmp_path), receipt, instance="2")
    with pytest.raises(InputError, match="is written by one query"):
        KINDS[kind](tmp_path).open(opening(instance="2"))
    run(second, 1, table(2))
    second.close()
    first = opened(KINDS[kind](tmp_path), receipt, instance="1")
    run(first, 2, table(3))
    first.close()
    assert sorted(values(tmp_path)) == [1, 2, 3]
    names = {path.name for path in (tmp_path / "out").glob("[!_.]*")}
    assert any(".1." in name or "-1-" in name for name in names)
    with pytest.raises(InputError):
        KINDS[kind](tmp_path).open(opening(instance="1"))
    with pytest.raises(InputError, match="plain name"):
        KINDS[kind](tmp_path).open(opening(instance="a/b"))
    if kind != "json lines":
        with pytest.raises(InputError, match="is empty at first"):
            KINDS[kind](tmp_path).open(opening(query="other", instance="3"))


@pytest.mark.parametrize("kind", KINDS)
def test_results_that_were_committed_and_are_gone_are_told_of(tmp_path, kind):
    writer = opened(KINDS[kind](tmp_path), instance="1")
    receipt = writer.stage(1, table(1))
    abandoned(writer)
    too_long = {**receipt, "length": receipt["length"] + 1}
    with pytest.raises(HeadgateError, match="that were committed are still in"):
        KINDS[kind](tmp_path).take_over(opening(too_long, instance="1"))


@pytest.mark.parametrize("other", OTHERS, ids=repr)
def test_where_nothing_can_be_kept_back_there_is_nothing_to_fence(other):
    assert other.guarantee == "at least once"
    other.fence(opening(instance="1"))
    other.take_over(opening({}, instance="1"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_sink_without_instances_has_nothing_to_take_away(tmp_path, kind):
    writer = opened(KINDS[kind](tmp_path))
    receipt = run(writer, 1, table(1))
    KINDS[kind](tmp_path).fence(opening(receipt))
    KINDS[kind](tmp_path).take_over(opening(receipt))
    run(writer, 2, table(2))
    writer.close()
    assert values(tmp_path) == [1, 2]


def test_what_queries_share_is_taken_over_by_the_engine_whose_it_was(tmp_path):
    def made():
        return sink.shared("board", sink.parquet(tmp_path / "out", every=3600))

    old = opened(made(), instance="a", query="q")
    old.open(opening(instance="a", query="p"))
    receipt = old.stage([("q", table(1)), ("p", table(2))])
    old.publish(receipt)
    old.stage([("q", table(9))])
    other = opened(made(), instance="b", query="p")
    other.fence(opening(instance="a"))
    other.take_over(opening(receipt, instance="a"))
    other.publish(other.stage([("p", table(3))]))
    other.close()
    rows = [row for part in sorted((tmp_path / "out").glob("part-*")) for row in pq.read_table(part).to_pylist()]
    assert [(row["query"], row["value"]) for row in rows] == [("q", 1), ("p", 2), ("p", 3)]
    with pytest.raises(SupersededError, match="query 'board' was superseded"):
        old.stage([("q", table(4))])
    with suppress(SupersededError):
        old.close()
        old.close()


# A process that sleeps.

WRITER = """
import json, sys
from dataclasses import replace
from pathlib import Path
from engine.sink.openings import opened, table
from engine.sink.test_fencing import KINDS
from headgate.engine.log.manifest import Manifest
from headgate.engine.log.progress import Progress
from headgate.errors import SupersededError
folder, kind = Path(sys.argv[1]), sys.argv[2]
manifest = Manifest(folder / "manifest.db", alone=False)
stands = manifest.enter("big", {}, Progress(cursors={"s": 0}))
writer = opened(KINDS[kind](folder), instance="1")
print("now", flush=True)
try:
    while True:
        at = stands.run
        receipt = writer.stage(at + 1, table(at))
        new = replace(stands, run=at + 1, cursors={"s": at + 1}, receipt=receipt)
        manifest.commit([("big", stands, new)])
        stands = new
        writer.publish(receipt)
        writer.tick(float("inf"))
except SupersededError as error:
    print(error, flush=True)
"""


@pytest.mark.parametrize("kind", ["parquet at once", "json lines"])
def test_a_process_that_sleeps_while_it_is_taken_over_adds_nothing_when_it_wakes_up(tmp_path, kind):
    tests = str(Path(__file__).parents[2])
    given = [sys.executable, "-c", WRITER, str(tmp_path), kind]
    environment = {**os.environ, "PYTHONPATH": tests}
    with subprocess.Popen(given, stdout=subprocess.PIPE, text=True, env=environment) as old:
        try:
            assert old.stdout.readline() == "now\n"
            until(lambda: peek(tmp_path / "manifest.db").progress["big"].run > 3)
            old.send_signal(signal.SIGSTOP)
            taker = KINDS[kind](tmp_path)
            taker.fence(opening(instance="1"))
            stands = peek(tmp_path / "manifest.db").progress["big"]
            taker.take_over(opening(stands.receipt, instance="1"))
            run(opened(taker, stands.receipt, instance="2"), 1, table(stands.run))
            old.send_signal(signal.SIGCONT)
            assert "query 'big' was superseded" in old.stdout.readline()
            assert old.wait(30) == 0
            taker.close()
        finally:
            old.kill()
    assert values(tmp_path) == list(range(stands.run + 1))
