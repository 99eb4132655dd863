"""Something that happens in the middle of something else: between any two lines of the code of sinks."""

import sys
from contextlib import contextmanager
from pathlib import Path

from headgate.engine.sink import parquet_folder

_CODE = str(Path(parquet_folder.__file__).parent)


@contextmanager
def happening(moments):
    """Call functions before lines that are executed in sinks, by how many these are then; gives the lines so far."""
    lines = []

    def trace(frame, event, _):
        if not frame.f_code.co_filename.startswith(_CODE):
            return None
        if event == "line":
            lines.append((frame.f_code.co_filename, frame.f_lineno))
            if happens := moments.get(len(lines)):
                sys.settrace(None)
                try:
                    happens()
                finally:
                    sys.settrace(trace)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lines
    finally:
        sys.settrace(before)
