"""The outcomes of experiments as a page."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from headgate.experiments.report import Outcome, counted

_MARK = {"in band": "in band", "out of band": "**out of band**", "miss": "**miss**", "reported": "–"}


def page(outcomes: Sequence[Outcome], figures: Mapping[str, Path], command: str) -> str:
    """A Markdown page: a count, then a section with figure and table for each experiment."""
    families = ", ".join(dict.fromkeys(o.id.partition("-")[0] for o in outcomes))
    lines = [
        f"# Reproduction report: {families}",
        "",
        f"Written by `{command}`: {counted(outcomes)}. [Reproducing the papers](reproducing.md) says how to read it.",
        "",
    ]
    for o in outcomes:
        lines += [f"## {o.id}: {o.title}", ""]
        if o.id in figures:
            lines += [f"![{o.title}]({figures[o.id].as_posix()})", ""]
        lines += ["| what | paper says | we measure | band | verdict |", "|---|---|---|---|---|"]
        lines += [f"| {r.what} | {r.paper} | {r.measured} | {r.band or '–'} | {_MARK[r.verdict]} |" for r in o.rows]
        lines += ["", f"Trace: {o.trace}. Seeds: {o.seeds}.", ""]
        lines += [f"{note}\n" for note in o.notes]
    return "\n".join(lines).rstrip() + "\n"
