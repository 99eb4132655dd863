"""Rows that a stream has rejected, kept in files of their own."""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from headgate.engine.log import synced
from headgate.engine.log.shared import SharedTrains
from headgate.engine.source.protocol import Rejected

_log = logging.getLogger(__name__)


class DeadLetters:
    """The folder of one stream; a file for whatever was rejected at once."""

    def __init__(self, stream: str, folder: Path, *, sync: bool) -> None:
        self._stream, self._folder, self._sync = stream, folder, sync

    def behind(self, count: int) -> Path:
        """The file for what comes after so many rejected rows."""
        return self._folder / f"{count:012d}.jsonl"

    def of(self, seq: int, writer: str) -> Path:
        """The file for what comes with a train that somebody wants to share."""
        return self._folder / f"{seq:012d}-{writer}.jsonl"

    def bury(self, rejected: Sequence[Rejected], file: Path) -> dict[str, int]:
        """Write rejected rows to a file, and count them by reason."""
        if not rejected:
            return {}
        self._folder.mkdir(parents=True, exist_ok=True)
        lines = [json.dumps({"reason": r.reason, "place": r.place, "row": r.row}) for r in rejected]
        file.write_text("\n".join(lines) + "\n")
        if self._sync:
            synced.sync(file)
            synced.sync(self._folder)
        _log.warning(
            "stream %s: %d rows rejected, in %s; first: %s", self._stream, len(rejected), file, rejected[0].reason
        )
        return dict(Counter(r.reason for r in rejected))

    def disown(self, shared: SharedTrains, following: int) -> None:
        """Remove what came with a train that was not shared after all, where the next has the number `following`."""
        for file in sorted(self._folder.glob("*-*.jsonl"))[-1:]:
            seq, _, writer = file.stem.partition("-")
            train = shared.read(int(seq))
            if train.writer != writer if train else int(seq) >= following:
                file.unlink()
