"""Reference tables that live elsewhere, as snapshots that are kept fresh. What a user writes as `headgate.table`.

A *source* is where a table lives: a file, a DataFrame, a function, a database. A *snapshot* is all rows of a table at
a time, as Parquet in the state folder; it never changes. A *part* of a table is what is refreshed at once: the whole
of it, or the rows with some values of a column. A *refresh* reads a part and, if its content is another one, makes
the next snapshot out of it and of the other parts' files.

    joins that ran ──▶ accesses ──▶ Refreshing: which part is due ──▶ Refresher: a Spark job at a time
                                        ▲                                   │ content, or version: changed or not
                                        └───────── change rates ◀───────────┤
    queries ◀── between two runs ◀── Swapping ◀── the next snapshot ◀───────┘

**Which rows a run joins with.** A run joins with one snapshot of each table, the one that its query had when it
began.
A query goes on with a newer one only when all that it did is committed, and the manifest has that before its first
run. So a run that is repeated after a crash finds the snapshot that it had, and joins with the same rows; the query
changes to the newest snapshot once it has passed everything that was there at the restart. A snapshot that no query
is known to have is removed.
"""

from headgate.engine.table.jdbc import jdbc
from headgate.engine.table.parts import ranges, values

__all__ = ["jdbc", "ranges", "values"]
