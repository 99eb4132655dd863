"""Programs in ordinary jobs: the worker that Spark keeps for its jobs keeps their kernels as well."""

import json
import pickle

from pyspark import TaskContext

from headgate.engine.kernel.program import Program
from headgate.engine.reader import PROPERTY
from headgate.engine.resident import answers
from headgate.engine.resident.kernels import Kernels

_KEPT = 16
"""Programs that a worker keeps."""

_kernels = Kernels()


def answer(program: Program) -> tuple[bytes, bytes]:
    """Run a program over the tuples that the job names: the answer, packed."""
    context = TaskContext.get()
    named = json.loads((context and context.getLocalProperty(PROPERTY)) or "{}")
    try:
        # A job of another lane may have brought more changes than this one is for.
        if _kernels.applied(program.id) > len(program.changes):
            _kernels.forget(program.id)
        _kernels.apply(program.id, program.tables, program.changes[_kernels.applied(program.id) :])
        found = _kernels.run(program.id, program.source, named)
    except Exception:
        _kernels.forget(program.id)
        raise
    _kernels.keep(_KEPT)
    sizes, body = answers.packed(found)
    return pickle.dumps((sizes, dict(found.errors), found.joined), protocol=5), body.to_pybytes()
