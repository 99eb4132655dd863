"""A folder of a sink's own that can be taken away from it, at once and for good.

    <place>      a symbolic link to the folder, through which the sink does all that others can come to see
    <place>.d    the folder

Whoever takes over turns the link away, in one step that cannot be seen half done. From then on the sink opens,
renames and links nothing there any more, however long it was asleep and in the middle of what; what it has open it
may go on to write, which nobody looks at. The link stays, so that the folder is not made again.
"""

import re
import shutil
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from headgate.engine.log.synced import sync as synced
from headgate.errors import HeadgateError, InputError, SupersededError

_AWAY = "/dev/null"
"""No folder, and never one."""
_ATTEMPTS, _PAUSE = 5, 0.05
_PART = 4 * 2**20
_INSTANCE = re.compile(r"[A-Za-z0-9_-]+")


def checked(instance: str) -> str:
    """An instance whose name can be part of that of a file."""
    if not _INSTANCE.fullmatch(instance):
        rule, remedy = "an instance of a query has a plain name", "Use letters, digits, '-' and '_'."
        raise InputError(rule, f"'{instance}'", remedy)
    return instance


class Staging:
    """The folder, by the name of its link, and the query whose it is."""

    def __init__(self, place: Path, query: str) -> None:
        self.place, self.query = place, query
        self.folder = place.with_name(f"{place.name}.d")

    @property
    def fenced(self) -> bool:
        """Whether it has been taken away."""
        try:
            return str(self.place.readlink()) == _AWAY
        except OSError:
            return False

    def make(self) -> None:
        """Make it if it is not there. Raises a SupersededError if it has been taken away."""
        self.check()
        self.folder.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):
            self.place.symlink_to(self.folder.name)
        if self.fenced:
            # Made again in vain; if it is not empty, it is that of whoever takes over.
            with suppress(OSError):
                self.folder.rmdir()
        self.check()

    def check(self) -> None:
        """Raise a SupersededError if it has been taken away."""
        if self.fenced:
            msg = f"query '{self.query}' was superseded: another instance of it has taken over what was written here"
            raise SupersededError(msg)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Tell an error that comes from having been superseded as that."""
        try:
            yield
        except HeadgateError:
            self.check()
            raise

    def fence(self) -> None:
        """Take it away from whoever has it, or may come to want it."""
        self.place.parent.mkdir(parents=True, exist_ok=True)
        if self.fenced:
            return
        turned = self.place.with_name(f".{self.place.name}.{uuid.uuid4().hex[:12]}")
        turned.symlink_to(_AWAY)
        turned.replace(self.place)

    def gone_through(self, show: Callable[[Path], None]) -> None:
        """Fence it, let what is in the folder be shown, and remove the folder; nothing, if that was done before."""
        self.fence()
        for attempt in range(_ATTEMPTS):
            if not self.folder.exists():
                return
            try:
                show(self.folder)
                break
            except FileNotFoundError:
                # What was on its way when the link was turned, or somebody else who takes over as well.
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE)
        shutil.rmtree(self.folder, ignore_errors=True)


def copied(file: Path, length: int, *, sync: bool) -> Path:
    """A copy of the first bytes of a file, beside it: the file itself may still be written to."""
    copy = file.with_name(f"{file.name}.{uuid.uuid4().hex[:12]}")
    left = length
    with file.open("rb") as source, copy.open("wb") as out:
        while left and (part := source.read(min(left, _PART))):
            out.write(part)
            left -= len(part)
    if sync:
        synced(copy)
    return copy
