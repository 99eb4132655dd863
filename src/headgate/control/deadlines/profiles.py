"""Ways to serve queries with deadlines, by name: who goes first, what is shed, what is held, when to plan anew.

lrm-seed  rate-monotonic; sheds by importance until all deadlines can be met, as it was published
lrm+      the same with what makes it hold: times are held instead of fractions, nobody is emptied, a little is kept
          free, and what is to spare when an iteration begins is used
rm        rate-monotonic, nothing is shed
hpf       the shortest period first, and iterations are not interrupted
rm-abort  rate-monotonic; an iteration ends at its deadline, done or not
dm        the shortest deadline first
edf       the earliest deadline first
ledf      the earliest deadline first; sheds until the load fits
ledf+     the same with what lrm+ has
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal, get_args

from headgate.control.deadlines.keeping import Hold
from headgate.control.deadlines.reduction import At, Reading, Reduction, Split
from headgate.control.deadlines.rescheduling import THRESHOLD, checked
from headgate.errors import InputError, choose

Order = Literal["rate", "deadline", "edf"]


def _one_of(what: str, got: str, choices: tuple[str, ...]) -> None:
    if got not in choices:
        raise InputError(f"a known {what}", f"'{got}'", f"Choose one of {', '.join(choices)}.")


@dataclass(frozen=True, slots=True)
class Profile:
    """One way.

    `reduction` is None where nothing is shed; `floor` is the smallest fraction of a window that an iteration keeps;
    `trigger` says when to plan anew, and `threshold` is that of the permissive one. With `abort` an iteration ends at
    its deadline. With `carried` a plan counts work that is unfinished when it is made. With `spared` an iteration may
    have of what is to spare when it begins, which is known where times are held.
    """

    name: str
    order: Order = "rate"
    preemptive: bool = True
    reduction: Reduction | None = None
    hold: Hold = "frac"
    trigger: str = "static"
    floor: float = 0.0
    abort: bool = False
    carried: bool = False
    threshold: float = THRESHOLD
    spared: bool = False

    def __post_init__(self) -> None:
        _one_of("order", self.order, get_args(Order))
        _one_of("hold", self.hold, get_args(Hold))
        checked(self.trigger)
        if not 0 <= self.floor <= 1:
            raise InputError("the least kept fraction is from 0 to 1", self.floor, "Give a part such as 0.05.")
        if self.reduction is None:
            return
        _one_of("reading", self.reduction.reading, get_args(Reading))
        _one_of("point", self.reduction.point, get_args(At))
        _one_of("split", self.reduction.split, get_args(Split))
        if not 0 <= self.reduction.margin < 1:
            raise InputError("a margin is from 0 to below 1", self.reduction.margin, "Give a part such as 0.05.")

    @property
    def margin(self) -> float:
        """The part of every time that is kept free."""
        return float(self.reduction.margin) if self.reduction else 0.0

    @property
    def reclaims(self) -> bool:
        """Whether what is to spare is used."""
        return self.spared and self.hold in {"clamp", "clampx"}

    @property
    def lasting(self) -> bool:
        """Whether a plan stays as long as it holds and nothing can be relaxed, although one is asked for often."""
        return self.trigger.startswith("pessimistic")


PROFILES: Mapping[str, Profile] = {
    profile.name: profile
    for profile in (
        Profile("lrm-seed", reduction=Reduction(), trigger="optimistic"),
        # With d = P this is the order of rates; with shorter deadlines that one would not be the best.
        Profile(
            "lrm+",
            order="deadline",
            reduction=Reduction("wf", "best", "prop", 0.01),
            hold="clampx",
            trigger="optimistic",
            floor=0.05,
            spared=True,
        ),
        Profile("rm"),
        Profile("hpf", preemptive=False),
        Profile("rm-abort", abort=True),
        Profile("dm", order="deadline"),
        Profile("edf", order="edf"),
        Profile("ledf", order="edf", reduction=Reduction(), trigger="optimistic"),
        Profile(
            "ledf+",
            order="edf",
            reduction=Reduction("wf", "best", "prop", 0.01),
            hold="clampx",
            trigger="optimistic",
            floor=0.05,
            spared=True,
        ),
    )
}


def names() -> tuple[str, ...]:
    """The names of all profiles."""
    return tuple(PROFILES)


def create(name: str, /, **options: Any) -> Profile:  # noqa: ANN401
    """The profile of that name, with single fields of it or of its reduction as the options say."""
    if name not in PROFILES:
        raise InputError("a known deadline profile", f"'{name}'", choose(name, PROFILES))
    profile = PROFILES[name]
    of_reduction = [f.name for f in fields(Reduction)]
    known = [f.name for f in fields(Profile) if f.name != "name"]
    for option in options:
        if option not in known and not (option in of_reduction and profile.reduction):
            takes = [*known, *(of_reduction if profile.reduction else ())]
            raise InputError(f"profile '{name}': a known option", f"'{option}'", f"It takes {', '.join(takes)}.")
    found = replace(profile, **{key: value for key, value in options.items() if key in known})
    inner = {key: value for key, value in options.items() if key in of_reduction}
    return replace(found, reduction=replace(found.reduction, **inner)) if inner and found.reduction else found
