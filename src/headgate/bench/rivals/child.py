"""The process of a system: `python -m headgate.bench.rivals.child MODULE QUERIES [OPTION]`."""

import sys
from importlib import import_module

from headgate.bench.rivals.alerts import alerts
from headgate.bench.rivals.rounds import serve


def main(module: str, number: str, *options: str) -> None:
    """Start the system with its queries and play rounds on it."""
    queries = alerts(int(number))
    with import_module(f"headgate.bench.rivals.{module}").started(queries, *options) as (feed, ear):
        serve(feed, ear, queries)


if __name__ == "__main__":
    main(*sys.argv[1:])
