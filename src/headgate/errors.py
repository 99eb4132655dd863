"""The one family of exceptions that stands for a user's mistake.

The command line prints these without a traceback; everything else is a defect of ours and keeps its traceback.
"""

from collections.abc import Collection
from difflib import get_close_matches

_MOST_LISTED = 20


class HeadgateError(Exception):
    """Something the user can mend: the message says which rule was broken, what was got and what to do."""


class SupersededError(HeadgateError):
    """Somebody else has gone on in this one's place."""


class InputError(HeadgateError):
    """A value from a file, the command line or the API that breaks a rule."""

    def __init__(self, rule: str, got: object, remedy: str, place: str | None = None) -> None:
        self.rule = rule
        self.got = got
        self.remedy = remedy
        self.place = place
        super().__init__(rule, got, remedy, place)

    def __str__(self) -> str:
        """The message on one line, led by the place in the file where there is one."""
        where = f"{self.place}: " if self.place else ""
        return f"{where}{self.rule}; got {self.got}. {self.remedy}"

    def at(self, place: str) -> "InputError":
        """The same mistake with the place where it stands, for the layer that knows it."""
        return InputError(self.rule, self.got, self.remedy, self.place or place)


def nearest(word: str, known: Collection[str]) -> str | None:
    """A question whether the word that is nearest was meant, if there is one that is near."""
    near = get_close_matches(word, known)
    # Two letters that have changed places are the likeliest slip, and count as two that are wrong.
    swapped = [other for other in near if sorted(other) == sorted(word)]
    return next((f"Did you mean '{other}'?" for other in (*swapped, *near)), None)


def choose(word: str, known: Collection[str]) -> str:
    """The remedy for a word that is not known: the nearest that is, and all of them."""
    listed = list(known)[:_MOST_LISTED]
    more = f" and {len(known) - len(listed)} more" if len(known) > len(listed) else ""
    rest = f"Choose one of {', '.join(listed)}{more}." if len(known) > 1 else f"There is {listed[0]} only."
    near = nearest(word, known)
    return f"{near} {rest}" if near else rest
