"""The results of nodes apart, read as one: of each instance of a query those that count.

Every node writes to a sink of its own. What counts is a number for each instance: so many of its first results. It
only grows, and no result is in two of these numbers; so whoever reads so far, and later from there on, has each
result exactly once.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json
import pyarrow.parquet as pq

from headgate.errors import InputError


def gathered(query: str, instances: Sequence[Mapping[str, Any]], places: Sequence[Path]) -> pa.Table:
    """The results of a query that count, instance after instance.

    `instances` are those that the coordinator tells of; `places` the folders or files of the query's sink on all
    nodes, as they can be reached from here.
    """
    there = list(dict.fromkeys(place.absolute() for place in places))
    found = [_of(query, each, there) for each in instances if each["results"]]
    return pa.concat_tables(found, promote_options="default") if found else pa.table({})


def _of(query: str, instance: Mapping[str, Any], places: Sequence[Path]) -> pa.Table:
    label, left = f"{instance['number']:06d}", int(instance["results"])
    found: list[pa.Table] = []
    for table in (table for place in places for table in _tables(place, label)):
        found.append(table.slice(0, left))
        left -= found[-1].num_rows
        if not left:
            return pa.concat_tables(found)
    rule = f"the results of query '{query}' that count are in the places that were named"
    got = f"{instance['results'] - left} of {instance['results']} of instance {instance['number']}"
    raise InputError(rule, got, f"Name the sink of node '{instance['node']}' too, as it can be reached from here.")


def _tables(place: Path, label: str) -> Iterator[pa.Table]:
    if place.is_dir():
        for file in sorted(place.glob(f"part-{label}-*.parquet")):
            yield _read(pq.read_table, file)
        return
    file = place.with_name(f"{place.stem}.{label}{place.suffix}")
    if file.exists():
        yield _read(pyarrow.json.read_json, file)


def _read(read: Callable[[Path], pa.Table], file: Path) -> pa.Table:
    try:
        return read(file)
    except (OSError, pa.ArrowInvalid) as error:
        remedy = "Bring it from its node again: what a copy has cut off may count."
        raise InputError("results are in whole files", f"{file} ({error})", remedy) from None
