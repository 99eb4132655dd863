"""Where the results of a query go. What a user writes as `headgate.sink`."""

from headgate.engine.sink.console_tables import console
from headgate.engine.sink.functions import callback, foreach_batch
from headgate.engine.sink.into_stream import stream
from headgate.engine.sink.json_lines import jsonl
from headgate.engine.sink.memory_tables import memory
from headgate.engine.sink.nowhere import discard
from headgate.engine.sink.parquet_folder import parquet
from headgate.engine.sink.shared import shared

__all__ = ["callback", "console", "discard", "foreach_batch", "jsonl", "memory", "parquet", "shared", "stream"]
