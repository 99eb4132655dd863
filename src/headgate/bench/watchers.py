"""Three who watch a dashboard, in a process of their own: `python -m headgate.bench.watchers ADDRESS`.

One has the overview open and one the queries; one opens the lanes later, when there is much to show, which must not
cost the others any news. And metrics are scraped. Once standard input ends, they print what they got.
"""

import json
import sys
import threading
import time
import urllib.request

PAGES = ("totals,classes,history", "totals,classes,queries", "totals,classes,lanes,runs")
_SCRAPE = 5.0
_LATE = 3.0
"""Seconds after which the last one joins."""


class Watcher(threading.Thread):
    """One page that is open: when its messages came, and how long they were."""

    def __init__(self, address: str, parts: str, after: float = 0.0) -> None:
        super().__init__(daemon=True)
        self._after = after
        self.times: list[float] = []
        self.bytes = 0
        self._url = f"{address}live?of={parts}"

    def run(self) -> None:
        """Join, and read until the end."""
        time.sleep(self._after)
        with urllib.request.urlopen(self._url) as answer:  # noqa: S310 - an address of this machine
            for line in answer:
                self.bytes += len(line)
                if line.startswith(b"data:"):
                    self.times.append(time.monotonic())


def scrape(address: str) -> None:
    """Take the metrics, again and again."""
    while True:
        with urllib.request.urlopen(f"{address}metrics") as answer:  # noqa: S310 - an address of this machine
            answer.read()
        time.sleep(_SCRAPE)


def main(address: str) -> None:
    """Watch until standard input ends."""
    *first, last = PAGES
    watchers = [*(Watcher(address, parts) for parts in first), Watcher(address, last, _LATE)]
    for each in (*watchers, threading.Thread(target=scrape, args=(address,), daemon=True)):
        each.start()
    sys.stdin.read()
    gaps = [later - sooner for each in watchers for sooner, later in zip(each.times, each.times[1:], strict=False)]
    sys.stdout.write(json.dumps({"gaps": gaps, "bytes": sum(each.bytes for each in watchers)}))


if __name__ == "__main__":
    main(sys.argv[1])
