"""Files that are on the disk and not only with the system, so that they outlive the machine."""

import os
from pathlib import Path


def claim(temporary: Path, file: Path, *, to_disk: bool = True) -> bool:
    """Give a file its name, and it is there whole or not at all; False if the name is taken."""
    if to_disk:
        sync(temporary)
    try:
        os.link(temporary, file)
        first = True
    except FileExistsError:
        # Over a network an answer may be lost, and the call repeated.
        first = temporary.samefile(file)
    except FileNotFoundError:
        # Asleep for so long that somebody took it for a leftover.
        if not file.exists():
            raise
        first = False
    temporary.unlink(missing_ok=True)
    if to_disk:
        sync(file.parent)
    return first


def sync(path: Path) -> None:
    """Wait until a file's content, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
