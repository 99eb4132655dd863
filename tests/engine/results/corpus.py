"""The corpus: queries with what one Spark batch over the whole input has to give for them.

An entry of a .sql file is a line `-- name key=value ...`, the continuous query, and, if it is another text, the batch
query; both end in `;`. The batch reads the streams by name; `<stream>_log` also has `n`, the position, and `arrived`;
`<stream>_windowed` has those, and each tuple once for every window that it is in, with window_start and window_end.
A window over rows is written with an underscore: 5_rows.
Without a batch query the given one is run over the whole input or, if it has a window, over each window's tuples.
"""

import re
from dataclasses import dataclass
from pathlib import Path

_ENTRY = re.compile(r"^-- (\w+)((?: \w+=\S+)*)\n", re.MULTILINE)


@dataclass(frozen=True)
class Entry:
    """One query. `within` is the relative error that its whole numbers may have."""

    name: str
    sql: str
    batch: str | None = None
    window: str | None = None
    slide: str | None = None
    time: str | None = None
    within: float = 0.0
    empty: bool = False

    @property
    def over_rows(self):
        return self.window is not None and self.window.endswith("rows")

    @property
    def options(self):
        """As Engine.query() takes them."""
        given = {"window": self.window, "slide": self.slide, "time": self.time}
        return {key: value for key, value in given.items() if value}


def entries(text):
    """The entries of a file."""
    _, *found = _ENTRY.split(text)
    return [_entry(*found[i : i + 3]) for i in range(0, len(found), 3)]


def _entry(name, options, body):
    sql, *batch = [part.strip() for part in body.split(";") if part.strip()]
    given = dict(option.split("=") for option in options.split())
    given |= {key: given[key].replace("_", " ") for key in ("window", "slide") if key in given}
    within, empty = float(given.pop("within", 0.0)), given.pop("empty", "no") == "yes"
    return Entry(name, sql, *batch, **given, within=within, empty=empty)


CORPUS = {
    entry.name: entry
    for file in sorted((Path(__file__).parent / "corpus").glob("*.sql"))
    for entry in entries(file.read_text())
}
