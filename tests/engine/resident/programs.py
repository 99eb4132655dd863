"""Programs and trains for lanes, and work that waits for what a lane answers."""

import queue
import threading

import numpy as np
import pyarrow as pa

from headgate.engine.kernel.ir import Call, Column, Parameter, Segment
from headgate.engine.kernel.kernel import Kernel
from headgate.engine.kernel.program import Add, Program
from headgate.engine.reader import JobInput, StreamInput
from headgate.shed.droppers import UNSHED

V = Column("v", "bigint")
ABOVE = Segment("s", (), (Call("GreaterThan", (V, Parameter(0, "bigint")), "boolean"),), None, (("v", V),))


def train(folder, n=1000):
    """A train of the numbers 0, 1, ... as the log has it, and a job's input for it, in two slices."""
    table = pa.table({"v": np.arange(n), "_arrival": pa.array(np.arange(n), pa.timestamp("us", "UTC"))})
    file = folder / f"{n}.arrow"
    with pa.OSFile(str(file), "wb") as out, pa.ipc.new_file(out, table.schema) as writer:
        writer.write_table(table)
    half = n // 2
    return JobInput(
        {"s": StreamInput(((str(file), 0, half, 0, 0, UNSHED), (str(file), half, n - half, half, 0, UNSHED)), None)}
    )


def above(*bounds, first=0):
    """Queries for the numbers above each bound."""
    return Add(ABOVE, list(range(first, first + len(bounds))), (pa.array(bounds, pa.int64()),))


def program(*bounds):
    return Program("s", {}, [above(*bounds)] if bounds else [])


def pairs(answer):
    """All results as (query, number)."""
    assert not answer.errors
    rows = [row for part in answer.parts for row in part.to_pylist()]
    return sorted((row["_q"], row["v"]) for row in rows)


def expected(bounds, n=1000):
    return [(q, v) for q, bound in enumerate(bounds) for v in range(bound + 1, n)]


def direct(of, given):
    """What a kernel answers that is asked here."""
    kernel = Kernel(of.tables)
    for change in of.changes:
        kernel.apply(change)
    ((_, stream),) = given.streams.items()
    tables = []
    for file, offset, count, *_ in stream.slices:
        with pa.memory_map(file) as source:
            tables.append(pa.ipc.open_file(source).read_all().slice(offset, count).select(kernel.columns))
    return kernel.run(pa.concat_tables(tables))


class Asked:
    """Work under way: what came of it, or the error."""

    def __init__(self, lane, what):
        self._found = queue.SimpleQueue()

        def work(executor):
            try:
                self._found.put((what(executor), None))
            except Exception as error:  # noqa: BLE001 - the test is told
                self._found.put((None, error))

        lane.assign("unit", work)

    def result(self):
        found, error = self._found.get(timeout=60)
        if error:
            raise error
        return found


def begun(lane, of, given):
    """Work that the worker of a lane has been sent."""
    sent, channel = threading.Event(), lane._task._channel
    send = channel.send

    def told(message):
        send(message)
        sent.set()

    channel.send = told
    made = Asked(lane, lambda executor: executor.answer(of, given))
    assert sent.wait(60)
    return made


def ask(lane, of, given):
    """The answer of a lane."""
    return Asked(lane, lambda executor: executor.answer(of, given)).result()
