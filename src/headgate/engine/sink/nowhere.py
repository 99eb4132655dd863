"""Results that nobody wants: for benchmarks, and for queries without a sink."""

import pyarrow as pa

from headgate.engine.sink.protocol import Guarantee, Opening, Receipt, Unfenced


def discard() -> "Discard":
    """Counts the results, as `rows` and `runs`, and drops them."""
    return Discard()


class Discard(Unfenced):
    """The counts, of this process and of runs that had results."""

    guarantee: Guarantee = "at least once"

    def __init__(self) -> None:
        self.rows = 0
        self.runs = 0

    def __repr__(self) -> str:
        """As it is written."""
        return "discard()"

    def open(self, opening: Opening) -> None:
        """Nothing to get ready."""

    def stage(self, run: int, rows: pa.Table) -> Receipt:  # noqa: ARG002 - any run counts
        """Count."""
        self.rows += rows.num_rows
        self.runs += rows.num_rows > 0
        return {}

    def publish(self, receipt: Receipt) -> None:
        """Nothing to show."""

    def tick(self, now: float) -> None:
        """Nothing waits."""

    def close(self) -> None:
        """Nothing to let go of."""
