"""The load managers by name: how scenarios, the engine and the documentation find them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

from headgate.errors import InputError, choose
from headgate.shed import aloma, aurora, backlog, ctrl, none, seamless
from headgate.shed.aloma import Aloma
from headgate.shed.aurora import Aurora
from headgate.shed.backlog import Backlog
from headgate.shed.ctrl import Ctrl
from headgate.shed.none import NoManager
from headgate.shed.protocol import LoadManager
from headgate.shed.seamless import Seamless

Made = type[NoManager | Aurora | Ctrl | Seamless | Aloma | Backlog]


@dataclass(frozen=True, slots=True)
class Listed:
    """A registered load manager: what it is for, its formula, and its options."""

    name: str
    suits: str
    formula: str
    make: Callable[..., LoadManager]
    options: tuple[str, ...]


def _listed(name: str, suits: str, formula: str, made: Made) -> Listed:
    return Listed(name, suits, formula, made, tuple(f.name for f in fields(made) if f.init))


MANAGERS: Mapping[str, Listed] = {
    listed.name: listed
    for listed in (
        _listed("none", "results that must be complete, however late", none.FORMULA, NoManager),
        _listed("aurora", "a capacity that is known and does not change", aurora.FORMULA, Aurora),
        _listed("ctrl", "flat networks of known capacity", ctrl.FORMULA, Ctrl),
        _listed("seamless", "any network, under a fair scheduler", seamless.FORMULA, Seamless),
        _listed("aloma", "any network and scheduler; learns by trial", aloma.FORMULA, Aloma),
        _listed("backlog", "any network and scheduler; settles within a few periods", backlog.FORMULA, Backlog),
    )
}


def listed(name: str) -> Listed:
    """The registered load manager of that name."""
    if name not in MANAGERS:
        raise InputError("a known load manager", f"'{name}'", choose(name, MANAGERS))
    return MANAGERS[name]


def create(name: str, options: Mapping[str, Any] | None = None) -> LoadManager:
    """A load manager made from its name and options, as a scenario or pipeline file gives them."""
    entry = listed(name)
    given = _known(entry, options or {})
    if "target" in entry.options and "target" not in given:
        rule = f"load manager '{name}': a delay target is given"
        raise InputError(rule, "none", "Give the class a delay target, or choose none or aurora.")
    return entry.make(**given)


def maker(name: str, options: Mapping[str, Any] | None = None) -> Callable[[float, float], LoadManager]:
    """What makes such a manager for a class, from its headroom and delay target; options go before both."""
    entry = listed(name)
    given = _known(entry, options or {})

    def make(headroom: float, target: float) -> LoadManager:
        of_class = {"headroom": headroom, "target": target}
        return create(name, {key: value for key, value in of_class.items() if key in entry.options} | given)

    return make


def _known(entry: Listed, given: Mapping[str, Any]) -> dict[str, Any]:
    for option in given:
        if option not in entry.options:
            rule = f"load manager '{entry.name}': a known option"
            raise InputError(rule, f"'{option}'", f"It takes {', '.join(entry.options)}.")
    return dict(given)
