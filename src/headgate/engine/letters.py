"""What was shed, kept elsewhere: the tuples that a class did not get to see, as Parquet files by class and stream.

They are written when a train leaves the log, a file for each train: by then all queries have passed it, and what was
dropped of it for any query of the class is known.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from headgate.engine.log.manifest import Manifest
from headgate.engine.log.stored import StoredTrain
from headgate.engine.log.trains import Trains
from headgate.engine.reader import stays
from headgate.shed.droppers import Drop


class Letters:
    """The folder with what was shed."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder, self._manifest = folder, manifest

    def write(self, log: Trains, trains: Sequence[StoredTrain]) -> None:
        """Write what was shed of trains that are about to go; the same again, if a crash came between."""
        end = trains[-1].end
        ranges = self._manifest.rates.shed_before(log.name, end)
        for train in trains if ranges else ():
            for cls in dict.fromkeys(cls for cls, *_ in ranges):
                self._write_train(log, train, cls, [each[1:] for each in ranges if each[0] == cls])
        if ranges:
            self._manifest.rates.forget_shed(log.name, end)

    def _write_train(
        self, log: Trains, train: StoredTrain, cls: str, ranges: Sequence[tuple[int, int, Drop]]
    ) -> None:
        rows, positions = log.rows(train), np.arange(train.first, train.end)
        dropped = np.zeros(train.count, dtype=bool)
        for low, high, drop in ranges:
            first, end = max(0, low - train.first), min(train.count, high - train.first)
            if first < end:
                part = rows.slice(first, end - first)
                dropped[first:end] |= ~stays(log.name, positions[first:end], drop, part.column)[0]
        if not dropped.any():
            return
        folder = self._folder / cls / log.name
        folder.mkdir(parents=True, exist_ok=True)
        rows = rows.append_column("_position", pa.array(positions)).filter(pa.array(dropped))
        file = folder / f"{train.seq:012d}.parquet"
        pq.write_table(rows, file.with_suffix(".tmp"))
        file.with_suffix(".tmp").rename(file)
