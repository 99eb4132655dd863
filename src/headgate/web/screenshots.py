"""Screenshots of every page of a dashboard: `python -m headgate.web.screenshots FOLDER [ADDRESS or PIPELINE]`.

Of an engine that runs, at 127.0.0.1:4050 or another address; or of a pipeline, which is run until there is
something to see. Needs a browser: Chromium, by Playwright (the extra `dev`).
"""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = ("", "queries", "streams", "lanes", "load", "network", "tables", "deadlines", "why", "whatif")
_ADDRESS = "http://127.0.0.1:4050/"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_QUIET = (
    *("--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--no-first-run"),
)
"""No browser that asks elsewhere for news, and one that also starts for root."""
_SIZE = (1366, 820)
_SETTLED = 2500
"""Milliseconds until charts are drawn and have moved a little."""
_PATIENCE = 120_000
"""Milliseconds after which a page that shows no news is given up."""
_ASKED = {"why": ("at", "-2s", "pre.sql"), "whatif": ("rate", "2x", "table.grid")}
"""Forms that are filled in where the token is known: the field, what is asked, and what the answer is in."""
_SEEN = 75.0
"""Seconds that a pipeline has run until its charts have something to show."""
_PORT = 4093


def found() -> str | None:
    """Where Chromium is, if there is one."""
    return next((path for name in _BROWSERS if (path := shutil.which(name))), None)


@contextmanager
def browser() -> Iterator["Browser"]:
    """A browser without a window."""
    path = found()
    if path is None:
        raise InputError(
            "screenshots need Chromium", "none", "Install it (Debian, Ubuntu: apt-get install chromium)."
        )
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra, and slow to load

    with sync_playwright() as started:
        made = started.chromium.launch(executable_path=path, args=list(_QUIET))
        try:
            yield made
        finally:
            made.close()


def shoot(address: str, folder: Path, token: str | None = None) -> list[Path]:
    """Every page, light and dark, and one query; with a token, with what is answered to questions."""
    folder.mkdir(parents=True, exist_ok=True)
    width, height = _SIZE
    with browser() as started:
        made = []
        for theme in ("light", "dark"):
            page = started.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            page.set_default_timeout(_PATIENCE)
            page.goto(address)
            if token:
                page.evaluate("token => sessionStorage.setItem('token', token)", token)
            for name in PAGES:
                question = _ASKED.get(name) if token else None
                file = folder / f"{name or 'overview'}-{theme}.png"
                made.append(_shot(page, f"{address}#/{name}", file, question))
            made.append(_one_query(page, address, folder / f"query-{theme}.png"))
            page.close()
        return made


def _one_query(page: "Page", address: str, file: Path) -> Path:
    page.goto(f"{address}#/queries")
    page.click("td.words a[href^='#/query/']")
    return _shot(page, page.url, file)


def _shot(page: "Page", address: str, file: Path, question: tuple[str, str, str] | None = None) -> Path:
    page.goto(address)
    if question:
        field, asked, answer = question
        page.fill(f"form input[name='{field}']", asked)
        page.click("form button[type='submit']")
        page.wait_for_selector(answer)
    page.wait_for_selector("#news[data-state='on time']")
    page.wait_for_timeout(_SETTLED)
    page.screenshot(path=file)
    _smaller(file)
    return file


def _smaller(file: Path) -> None:
    """A third of the size, in colours that hardly differ: none that is used anywhere, or much, is left out."""
    from PIL import Image  # noqa: PLC0415 - matplotlib brings it along

    with Image.open(file) as picture:
        found = picture.convert("RGB").quantize(
            256, method=Image.Quantize.MAXCOVERAGE, kmeans=1, dither=Image.Dither.NONE
        )
    found.save(file, optimize=True)


@contextmanager
def running(pipeline: Path) -> Iterator[tuple[str, str]]:
    """The address of an engine that has run a pipeline for a while, and goes on; and its token."""
    command = [sys.executable, "-m", "headgate", "run", str(pipeline), "--no-view", "--ui-port", str(_PORT)]
    with tempfile.TemporaryDirectory() as state, (Path(state) / "said").open("w+") as said:
        engine = subprocess.Popen([*command, "--state", f"{state}/state"], stdout=said, stderr=said)  # noqa: S603
        try:
            yield _address(engine, Path(said.name))
        finally:
            engine.terminate()
            engine.wait()


def _address(engine: "subprocess.Popen[bytes]", said: Path) -> tuple[str, str]:
    """What the engine says that its address and token are, once it has run for a while."""
    while engine.poll() is None:
        if found := re.search(r"dashboard: (http\S+) .* token (\S+)", said.read_text()):
            time.sleep(_SEEN)
            return found[1], found[2]
        time.sleep(0.5)
    raise InputError("the pipeline has to run", said.read_text().strip(), "Try it by `headgate run` alone.")


def main(arguments: Sequence[str]) -> None:
    """Make the pictures that the arguments ask for, and say where they are."""
    folder, of = [*arguments, *("screenshots", _ADDRESS)[len(arguments) :]][:2]
    if Path(of).suffix in (".yaml", ".yml"):
        with running(Path(of)) as (address, token):
            made = shoot(address, Path(folder), token)
    else:
        made = shoot(of, Path(folder))
    for each in made:
        sys.stdout.write(f"{each}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
