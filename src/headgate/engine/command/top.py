"""`headgate top`: a look at an engine that runs, by what it writes into its state folder."""

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.live import Live

from headgate.engine.command.starting import Json
from headgate.errors import InputError
from headgate.printed import stdout

if TYPE_CHECKING:
    from headgate.engine.view import Row

_EVERY = 0.5
_STALE = 5.0
STATUS = "status.json"
"""The name in `headgate.engine.status`, which would load Spark for a look at a file."""


def top(
    folder: Annotated[Path, typer.Argument(metavar="STATE_DIR", help="The state folder of the engine.")],
    once: Annotated[bool, typer.Option("--once", help="Print what there is now, and exit.")] = False,
    as_json: Json = False,
) -> None:
    """Watch an engine that runs, by what it writes into its state folder."""
    from headgate.engine.closing import document
    from headgate.engine.view import view

    found = _status(folder)
    if as_json:
        shown = {"running": found["running"], "time": found["time"], **document(found)}
        typer.echo(json.dumps(shown, indent=2, ensure_ascii=False, allow_nan=False))
        return
    console = stdout()
    if once or not console.is_terminal:
        console.print(view(found, console.width, sys.maxsize, _news(found)))
        return
    try:
        with Live(console=console, screen=True, auto_refresh=False) as live:
            while True:
                live.update(view(found, *console.size, _news(found)), refresh=True)
                time.sleep(_EVERY)
                found = _status(folder)
    except KeyboardInterrupt:
        return


def _status(folder: Path) -> dict[str, Any]:
    file = folder / STATUS
    remedy = "Name the state folder of an engine that has been started."
    try:
        found = json.loads(file.read_text())
    except OSError as error:
        raise InputError(f"a state folder has a {STATUS}", f"{folder} ({error.strerror})", remedy) from None
    except ValueError:
        raise InputError(f"{STATUS} is written by an engine", "no JSON", remedy, str(file)) from None
    if not isinstance(found, dict) or not {"running", "time", "accounting"} <= found.keys():
        raise InputError(f"{STATUS} is written by an engine", "other JSON", remedy, str(file))
    return found


def _news(found: "Row") -> str:
    """What is to be said about the age of a status."""
    from headgate.engine.readable import span

    age = time.time() - found["time"]
    if not found["running"]:
        return f"the engine stopped {span(round(age))} ago"
    return f"no news for {span(round(age))}; the engine may have died" if age > _STALE else ""
