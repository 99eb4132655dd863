"""The page of the commands, made from the commands."""

import re
from typing import Any

import typer
from typer.cli import get_docs_for_click

from headgate.cli import app

PAGE = "reference/cli.md"


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:  # noqa: ANN401 - as mkdocs has them
    """Put what `--help` says of each command below the page's own words."""
    if page.file.src_uri != PAGE:
        return markdown
    command = typer.main.get_command(app)
    for each in (command, *getattr(command, "commands", {}).values()):
        # With its whole first sentence, of which typer shows 45 letters; and examples as code, where `--` stays.
        each.short_help = (each.help or "").partition("\n")[0]
        each.epilog = re.sub(r"headgate [^,]+", r"`\g<0>`", each.epilog or "")
    made = get_docs_for_click(obj=command, ctx=typer.Context(command, info_name="headgate"), name="headgate")
    return f"{markdown}\n{made.partition('**Usage**')[1]}{made.partition('**Usage**')[2]}"
