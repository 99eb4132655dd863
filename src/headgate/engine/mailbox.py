"""Changes that other threads ask for: the scheduler's thread makes them between two decisions, in their order."""

import logging
import threading
from collections import deque
from collections.abc import Callable

from headgate.engine.running import message

_LOOK = 0.2
"""Seconds between two looks whether the thread is still there."""

_log = logging.getLogger(__name__)


class Mailbox:
    """What is put into it for a thread, which is to `wake` for it; without that thread, changes are made at once."""

    def __init__(self, thread: threading.Thread, wake: Callable[[], None]) -> None:
        self._thread, self._wake = thread, wake
        self._todo: deque[tuple[Callable[[], None], threading.Event]] = deque()

    def __bool__(self) -> bool:
        return bool(self._todo)

    def put(self, change: Callable[[], None]) -> threading.Event:
        """Have a change made soon; gives what is set once it is."""
        made = threading.Event()
        self._todo.append((change, made))
        self._wake()
        return made

    def call(self, change: Callable[[], None]) -> None:
        """Have a change made, and return when it is; raises what it raises."""
        if not self._thread.is_alive():
            change()
            return
        failed: list[Exception] = []

        def attempt() -> None:
            try:
                change()
            except Exception as error:  # noqa: BLE001 - whoever asked for the change is told
                failed.append(error)

        made = self.put(attempt)
        while not made.wait(_LOOK) and self._thread.is_alive():
            pass
        if failed:
            raise failed[0]

    def catch_up(self) -> None:
        """Make all changes that are asked for."""
        while self._todo:
            change, made = self._todo.popleft()
            try:
                change()
            except Exception as error:  # noqa: BLE001 - a full disk, say: whatever it is, the others go on
                _log.warning("could not take note: %s", message(error))
            finally:
                made.set()
