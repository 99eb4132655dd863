"""`headgate run`, `top` and `explain`: a pipeline on the command line, and looks at one that runs or would."""

import typer

from headgate.engine.command import explain, run, top


def register(app: typer.Typer) -> None:
    """Add the commands to the application."""
    app.command(epilog="Example: headgate run examples/pipelines/market.yaml --for 30s")(run.run)
    app.command(epilog="Example: headgate top examples/pipelines/state/market")(top.top)
    app.command(epilog="Example: headgate explain examples/pipelines/state/market --at -5s")(explain.explain)
