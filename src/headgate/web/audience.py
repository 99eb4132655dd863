"""Those who watch, on the loop of a server: each is handed messages, and who is slow gets everything again."""

import asyncio
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

Asked = tuple[str, ...]


class Seat:
    """One who watches: what is asked for, the frame of the last message, and that message until it is taken."""

    def __init__(self, asked: Asked) -> None:
        self.asked = asked
        self.since: int | None = None
        self.message: bytes | None = None
        self.hungry = False
        self.news = asyncio.Event()
        self.loop = asyncio.get_running_loop()


class Audience:
    """The seats. They are taken and left on the loop, and messages are handed to them from another thread.

    The lock is held for as long as it takes to look at the seats, never while messages are written.
    """

    def __init__(self, wake: Callable[[], object]) -> None:
        self._wake = wake
        self._lock = threading.Lock()
        self._seats: tuple[Seat, ...] = ()

    def __len__(self) -> int:
        return len(self._seats)

    @contextmanager
    def seat(self, asked: Asked) -> Iterator[Seat]:
        """A seat for somebody who asks for these parts."""
        made = Seat(asked)
        with self._lock:
            self._seats += (made,)
        try:
            yield made
        finally:
            with self._lock:
                self._seats = tuple(each for each in self._seats if each is not made)

    def take(self, seat: Seat) -> bytes | None:
        """The message that has come; if there was none to build upon, everything is asked for."""
        seat.news.clear()
        with self._lock:
            message, seat.message = seat.message, None
            hungry = seat.hungry = message is None and seat.since is None
        if hungry:
            self._wake()
        return message

    def newcomers(self) -> set[Asked]:
        """What is asked for by those who wait for everything."""
        return {each.asked for each in self._seats if each.hungry}

    def followers(self, number: int) -> set[Asked]:
        """What is asked for by those who have the frame of that number."""
        return {each.asked for each in self._seats if each.since == number}

    def welcome(self, messages: Mapping[Asked, bytes], number: int) -> None:
        """Hand everything of a frame to those who wait for that."""
        with self._lock:
            told = [each for each in self._seats if each.hungry and each.asked in messages]
            for each in told:
                each.message, each.since, each.hungry = messages[each.asked], number, False
        self._call(told)

    def hand(self, messages: Mapping[Asked, bytes], last: int, number: int) -> None:
        """Hand the news of a frame to those who have the one before.

        Who has not taken that yet, or does not have it, has lost track.
        """
        with self._lock:
            told = [each for each in self._seats if each.since is not None]
            for each in told:
                lost = each.since != last or each.message is not None or each.asked not in messages
                each.message, each.since = (None, None) if lost else (messages[each.asked], number)
        self._call(told)

    def dismiss(self) -> None:
        """Have all look up, because there will be no more."""
        self._call(self._seats)

    @staticmethod
    def _call(told: Sequence[Seat]) -> None:
        for loop in {each.loop for each in told}:
            # A server that has given up needs no news.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_call_up, [each for each in told if each.loop is loop])


def _call_up(seats: Sequence[Seat]) -> None:
    for each in seats:
        each.news.set()
