"""What an engine tells a sink, and tables of results."""

import json

import pyarrow as pa

from headgate.engine.sink.protocol import Opening

SCHEMA = pa.schema([("sym", pa.string()), ("value", pa.int64())])


def opening(last=None, *, query="big", schema=SCHEMA, spark=None, sync=False, instance=""):
    """Receipts come back as the manifest keeps them, which is as JSON."""
    return Opening(query, schema, spark, None if last is None else json.loads(json.dumps(last)), sync, instance)


def opened(sink, last=None, **given):
    sink.open(opening(last, **given))
    return sink


def table(*values):
    return pa.table({"sym": [f"s{v}" for v in values], "value": list(values)}, schema=SCHEMA)


def run(sink, number, rows):
    """A run without a crash."""
    receipt = sink.stage(number, rows)
    sink.publish(receipt)
    return receipt
