"""The one family of exceptions that stands for a user's mistake.

The command line prints these without a traceback; everything else is a defect of ours and keeps its traceback.
"""


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
