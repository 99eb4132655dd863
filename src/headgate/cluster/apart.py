"""What nodes that share no storage can run, by the pipeline alone.

Each of them reads the sources itself, so a source has to give the same tuples in the same order to all of them, and
to whoever goes on where another has been. Then tuples have the same numbers everywhere, and results of windows over
event time do not depend on which node gives them out.
"""

from collections.abc import Callable, Mapping

from headgate.cluster.questions import questions
from headgate.engine.pipeline import Pipeline
from headgate.engine.pipeline.pipeline import Stream
from headgate.engine.source.protocol import Replayable, Source, State
from headgate.engine.source.tcp import Socket
from headgate.engine.source.watched import Folder
from headgate.errors import InputError

_SHARE = "Or have the nodes on one machine, with one folder, without --apart."
_REMEDY = f"Replay files that all nodes have, or generate it. {_SHARE}"


def beginnings(pipeline: Pipeline) -> Mapping[str, Callable[[float], State]]:
    """How each stream that queries read begins at a time; refuses those that nodes apart would not read alike."""
    asked = questions(pipeline)
    for question in asked:
        if question.gives is not None:
            place = pipeline.document.place(("queries", question.name, "sink"))
            rule = "results of queries leave nodes that are apart: each would have a stream of them of its own"
            raise InputError(rule, f"a stream of results, '{question.gives}'", _SHARE, place)
    read = sorted({stream for question in asked for stream in question.streams})
    return {name: _beginning(pipeline, name, pipeline.streams[name]) for name in read}


def _beginning(pipeline: Pipeline, name: str, stream: Stream) -> Callable[[float], State]:
    place = pipeline.document.place(("streams", name))
    if not isinstance(stream.source, Replayable):
        rule = "nodes apart read the same tuples of a stream, each by itself and in the same order"
        raise InputError(rule, f"'{name}', {_why(stream.source)}", _REMEDY, place)
    if stream.idle is not None:
        rule = "the event time of a stream goes by its tuples alone where each node reads it by itself"
        got = f"'{name}', whose time goes on with the clock of the node when it is idle"
        raise InputError(rule, got, f"Leave out idle. {_SHARE}", place)
    return stream.source.start


def _why(source: Source) -> str:
    if isinstance(source, Socket):
        return "which comes to a port that one of them listens on"
    if isinstance(source, Folder):
        return "whose files each of them would read in the order in which it happens to find them"
    return f"a {type(source).__name__}, of which it is not known that it can be read twice"
