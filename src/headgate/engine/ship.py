"""Headgate for the executors: they need not have it installed, so a Spark context carries it along."""

import hashlib
import sys
import threading
import zipfile
from pathlib import Path

from pyspark import SparkContext, SparkFiles

import headgate

_lock = threading.Lock()


def ship(context: SparkContext) -> None:
    """Give the package to the Python workers of a context, once."""
    root = Path(headgate.__file__).parent
    files = {file.relative_to(root.parent).as_posix(): file.read_bytes() for file in sorted(root.rglob("*.py"))}
    content = hashlib.sha256(b"".join(name.encode() + text for name, text in files.items())).hexdigest()
    name = f"headgate-{content[:16]}.zip"
    with _lock:
        if any(file.endswith(f"/{name}") for file in context.listFiles):
            return
        # Executors that come later fetch it too: it has to be there for as long as the context.
        path = Path(context._temp_dir or ".") / name  # noqa: SLF001
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
            for file, text in files.items():
                packed.writestr(file, text)
        context.addPyFile(str(path))
        # The driver has its own.
        sys.path.remove(SparkFiles.get(name))
