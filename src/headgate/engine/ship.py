"""Headgate for the executors: they need not have it installed, so a Spark context carries it along."""

import hashlib
import sys
import threading
import weakref
import zipfile
from pathlib import Path

from pyspark import SparkContext, SparkFiles

import headgate

_shipped: weakref.WeakSet[SparkContext] = weakref.WeakSet()
_lock = threading.Lock()


def ship(context: SparkContext) -> None:
    """Give the package to the Python workers of a context, once."""
    with _lock:
        if context in _shipped:
            return
        # Executors that come later fetch it too: it has to be there for as long as the context.
        path = _packed(Path(SparkFiles.getRootDirectory()) / "shipped")
        context.addPyFile(str(path))
        # The driver has its own.
        sys.path.remove(SparkFiles.get(path.name))
        _shipped.add(context)


def _packed(folder: Path) -> Path:
    """The package as a file with a name that says what is in it."""
    root = Path(headgate.__file__).parent
    files = {file.relative_to(root.parent).as_posix(): file.read_bytes() for file in sorted(root.rglob("*.py"))}
    content = hashlib.sha256(b"".join(name.encode() + text for name, text in files.items())).hexdigest()
    folder.mkdir(exist_ok=True)
    path = folder / f"headgate-{content[:16]}.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        for file, text in files.items():
            packed.writestr(file, text)
    return path
