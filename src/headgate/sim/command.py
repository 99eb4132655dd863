"""`headgate whatif`: a recorded run under other choices."""

import json
import re
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text

from headgate.errors import InputError
from headgate.printed import finite, stdout


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(epilog="Example: headgate whatif examples/pipelines/state/market --policy bsd --rate 2x")(whatif)


def whatif(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="The state folder of a run, or its record.")],
    policy: Annotated[str | None, typer.Option(metavar="NAME", help="Another policy; see headgate policies.")] = None,
    shed: Annotated[
        str | None, typer.Option(metavar="MODE[:MANAGER]", help="Other load management, such as none or dilos:aloma.")
    ] = None,
    rate: Annotated[str | None, typer.Option(metavar="2x", help="So many times as many tuples.")] = None,
    lanes: Annotated[
        int | None, typer.Option(metavar="N", help="So many lanes of each kind that the run had.")
    ] = None,
    add_query: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Queries more, each like one that there was; a YAML file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")] = False,
) -> None:
    """Predict a recorded run under other choices, beside what was measured and what is predicted of that."""
    from headgate.record import read
    from headgate.sim.whatif import Choices, predict
    from headgate.sim.whatif_file import load
    from headgate.sim.whatif_shown import document, shown

    with Console(stderr=True).status("reading the record") as status:
        recorded = read(run)
        added = load(add_query, recorded) if add_query else ()
        choices = Choices(policy, shed, _times(rate), lanes, added)
        status.update("replaying")
        found = predict(recorded, choices)
    if as_json:
        typer.echo(json.dumps(finite(document(recorded, found)), indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = stdout()
    for part in shown(recorded, found):
        console.print(part, soft_wrap=isinstance(part, Text))


def _times(text: str | None) -> float:
    if text is None:
        return 1.0
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[x×]?", text.strip())
    if not found:
        raise InputError("--rate says how many times as many tuples come", f"'{text}'", "Write it like 2x.")
    return float(found[1])
