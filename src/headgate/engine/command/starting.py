"""What `run` and `explain` begin with: an engine that has all of a pipeline, and a terminal that stays readable."""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from logging.handlers import MemoryHandler
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.logging import RichHandler

from headgate.errors import HeadgateError, InputError

if TYPE_CHECKING:
    from headgate.engine.engine import Engine
    from headgate.engine.pipeline import Pipeline

_MOST_HELD = 1000
_SPARK_LOG = "spark.log"

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]


def planned(pipeline: "Pipeline", err: Console) -> "Engine":
    """An engine with all that the pipeline has."""
    from headgate.engine.engine import Engine
    from headgate.engine.pipeline import build
    from headgate.engine.quiet import complaint, hush, spoken_to

    log = _spark_log(pipeline.state)
    total = sum(1 if query.each is None else len(query.each) for query in pipeline.queries.values())
    if not err.is_terminal:
        err.print(f"starting Spark, then planning {total} queries")
    with err.status("starting Spark") as status:
        before = log.stat().st_size
        try:
            with spoken_to(log):
                engine = Engine(
                    state=pipeline.state,
                    lanes=pipeline.lanes,
                    channel=pipeline.channel,
                    sync=pipeline.sync,
                    master=pipeline.master,
                    jars=pipeline.jars,
                )
        except HeadgateError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever it is that Spark does not like
            said = (complaint(log, before) or str(error).partition("\n")[0]).rstrip(".")
            where = f" on {pipeline.master}" if pipeline.master else ""
            raise InputError(f"Spark starts{where}", said, f"Its log is {log}.") from None
        hush()
        engine.spark.sparkContext.setLogLevel("ERROR")
        status.update("reading streams and tables")
        try:
            build(pipeline, _Counting(engine, lambda n: status.update(f"planning {n} of {total} queries")))
        except BaseException:
            engine.stop()
            raise
    return engine


def _spark_log(state: Path) -> Path:
    try:
        state.mkdir(parents=True, exist_ok=True)
        (state / _SPARK_LOG).touch()
    except OSError as error:
        raise InputError(
            "a state folder that can be written", f"{state} ({error.strerror})", "Name another folder."
        ) from None
    return state / _SPARK_LOG


class _Counting:
    """An engine as a pipeline sees it, telling which query is being planned."""

    def __init__(self, engine: "Engine", tell: Callable[[int], None]) -> None:
        self.query_class, self.stream, self.table = engine.query_class, engine.stream, engine.table
        self.refreshing = engine.refreshing
        self._engine, self._tell, self._n = engine, tell, 0

    def query(self, name: str, sql: str, /, **settings: Any) -> None:  # noqa: ANN401 - as the engine has them
        """Register a query."""
        self._n += 1
        self._tell(self._n)
        self._engine.query(name, sql, **settings)

    def query_many(self, texts: Mapping[str, str], /, **settings: Any) -> None:  # noqa: ANN401 - as the engine has them
        """Register many queries."""
        self._n += len(texts)
        self._tell(self._n)
        self._engine.query_many(texts, **settings)


@contextmanager
def logged(err: Console, *, held: bool) -> Iterator[None]:
    """Show what is logged at once, or once the view that it would spoil is over."""
    shown = RichHandler(console=err, show_time=False, show_path=False, rich_tracebacks=False)
    handler = MemoryHandler(_MOST_HELD, logging.CRITICAL + 1 if held else logging.NOTSET, shown)
    logger = logging.getLogger("headgate")
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
        handler.close()
