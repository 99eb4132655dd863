"""An engine in a notebook: its snapshot as HTML, shown once or kept up to date; results as tables of a library."""

import sys
import time
from collections.abc import Callable
from html import escape
from typing import Any, Literal, get_args

import pyarrow as pa
from pyspark.sql import SparkSession
from rich.console import Console
from rich.live import Live

from headgate.engine.view import Row, line, plain, state, tables, view
from headgate.errors import InputError

Form = Literal["arrow", "pandas", "polars", "spark"]

_EVERY = 0.5
_MOST = 50
_STYLE = """
.headgate table {border-collapse: collapse; margin: 0.4em 0 0.8em; font-variant-numeric: tabular-nums}
.headgate th, .headgate td {padding: 0.15em 0.7em; text-align: right; border-bottom: 1px solid #8884}
.headgate th.words, .headgate td.words {text-align: left}
.headgate tr.failed td {color: #c62828; font-weight: bold}
.headgate tr.trying td, .headgate tr.paused td {color: #b26a00}
.headgate caption {text-align: left; font-weight: bold}
"""


def html(snapshot: Row) -> str:
    """The snapshot of an engine as a piece of a page. What has failed or waits longest comes first."""
    said = f"headgate, {snapshot['policy']}: {line(snapshot)}"
    parts = [f"<style>{_STYLE}</style>", f"<div>{_text(said)}</div>"]
    for title, columns, rows in tables(snapshot):
        marks = [' class="words"' if column.words else "" for column in columns]
        head = "".join(f"<th{m}>{_text(c.heading)}</th>" for c, m in zip(columns, marks, strict=True))
        body = []
        for row in rows[:_MOST]:
            cells = "".join(f"<td{m}>{_text(c.cell(row))}</td>" for c, m in zip(columns, marks, strict=True))
            body.append(f'<tr class="{_text(state(row))}" title="{_text(row["reason"] or "")}">{cells}</tr>')
        more = f", {_MOST} of {len(rows)}" if len(rows) > _MOST else ""
        parts.append(f"<table><caption>{_text(title + more)}</caption><tr>{head}</tr>{''.join(body)}</table>")
    return f'<div class="headgate">{"".join(parts)}</div>'


def show(status: Callable[[], Row], seconds: float) -> None:
    """Show an engine, and keep what is shown up to date for so long: in a notebook, or else in the terminal."""
    until = time.monotonic() + seconds
    if (handle := _handle(status())) is not None:
        while time.monotonic() < until:
            time.sleep(_EVERY)
            handle.update(_Page(status()))
        return
    console = Console()
    with Live(view(status(), *console.size), console=console, auto_refresh=False) as live:
        while time.monotonic() < until:
            time.sleep(_EVERY)
            live.update(view(status(), *console.size), refresh=True)


def given_as(rows: pa.Table, form: Form, spark: SparkSession) -> Any:  # noqa: ANN401 - a table of one of four libraries
    """Rows as a table of Arrow, pandas, Polars or Spark."""
    if form not in get_args(Form):
        raise InputError("results come in a known form", f"'{form}'", f"Choose {', '.join(get_args(Form))}.")
    if form == "pandas":
        return rows.to_pandas()
    if form == "polars":
        import polars as pl  # noqa: PLC0415 - only who asks for it waits for it

        return pl.from_arrow(rows)
    return spark.createDataFrame(rows) if form == "spark" else rows


class _Page:
    """What a notebook shows of a snapshot."""

    def __init__(self, snapshot: Row) -> None:
        self._snapshot = snapshot

    def _repr_html_(self) -> str:
        return html(self._snapshot)

    def __repr__(self) -> str:
        return line(self._snapshot)


def _handle(snapshot: Row) -> Any:  # noqa: ANN401 - IPython's, where it is there
    """Something on the page of a notebook that can be shown anew; None if this is no notebook."""
    shell = sys.modules.get("IPython")
    running = shell.get_ipython() if shell else None
    if running is None or not hasattr(running, "kernel"):
        return None
    from IPython.display import display  # noqa: PLC0415 - it is loaded already

    return display(_Page(snapshot), display_id=True)


def _text(value: str) -> str:
    return escape(plain(value))
