"""How long a page of a thousand queries takes from a click or a key to the table as it is then, in a browser."""

from headgate.bench.rivals.bed import Row
from headgate.web import screenshots

_TOUCH = """([selector, text]) => new Promise((done) => {
  const element = document.querySelector(selector);
  const began = performance.now();
  if (text === null) element.click();
  else { element.value = text; element.dispatchEvent(new Event("input")); }
  // The second frame begins when the first has been painted.
  requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now() - began)));
})"""
_SEARCHED = ("q", "q1", "q12", "no such query", "")


def touched(address: str) -> Row | None:
    """Sort by every column, up and down, and search as one types; None where there is no browser."""
    if screenshots.found() is None:
        return None
    with screenshots.browser() as browser:
        page = browser.new_page(viewport={"width": 1366, "height": 768})
        page.goto(f"{address}#/queries")
        page.wait_for_selector("output:has-text(' of ')")
        page.wait_for_selector("tbody a[href]")
        heads = page.locator("th[data-key]").evaluate_all("heads => heads.map((each) => each.dataset.key)")
        buttons = [f"th[data-key='{key}'] button" for key in heads]
        sorts = [page.evaluate(_TOUCH, [button, None]) for button in buttons for _ in range(2)]
        searches = [page.evaluate(_TOUCH, ["input[type=search]", text]) for text in _SEARCHED]
        return {"sorts": len(sorts), "longest_sort": max(sorts), "longest_search": max(searches)}
