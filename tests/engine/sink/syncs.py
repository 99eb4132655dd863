"""What is waited for until it is on the disk."""

import os
from contextlib import contextmanager
from pathlib import Path
from unittest import mock


@contextmanager
def syncs():
    """The paths that are synced meanwhile, in their order."""
    found, fsync = [], os.fsync

    def noted(descriptor):
        found.append(str(Path(f"/proc/self/fd/{descriptor}").readlink()))
        fsync(descriptor)

    with mock.patch.object(os, "fsync", noted):
        yield found
