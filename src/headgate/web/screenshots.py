"""Screenshots of every page of a dashboard that runs: `python -m headgate.web.screenshots FOLDER [ADDRESS]`.

Needs a browser: Chromium, by Playwright (the extra `dev`).
"""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from headgate.errors import InputError

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

PAGES = ("", "queries", "streams", "lanes", "load", "network", "tables", "deadlines", "whatif")
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


def shoot(address: str, folder: Path) -> list[Path]:
    """Every page, light and dark, and one query."""
    folder.mkdir(parents=True, exist_ok=True)
    width, height = _SIZE
    with browser() as started:
        made = []
        for theme in ("light", "dark"):
            page = started.new_page(viewport={"width": width, "height": height}, color_scheme=theme)
            made += [
                _shot(page, f"{address}#/{name}", folder / f"{name or 'overview'}-{theme}.png") for name in PAGES
            ]
            made.append(_first_query(page, address, folder / f"query-{theme}.png"))
            page.close()
        return made


def _first_query(page: "Page", address: str, file: Path) -> Path:
    page.goto(f"{address}#/queries")
    page.click("td.words a[href^='#/query/']")
    return _shot(page, page.url, file)


def _shot(page: "Page", address: str, file: Path) -> Path:
    page.goto(address)
    page.wait_for_selector("#news[data-state='on time']")
    page.wait_for_timeout(_SETTLED)
    page.screenshot(path=file)
    return file


if __name__ == "__main__":
    to, *at = sys.argv[1:] or ["screenshots"]
    for each in shoot(at[0] if at else _ADDRESS, Path(to)):
        sys.stdout.write(f"{each}\n")
