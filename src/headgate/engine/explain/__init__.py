"""What an engine makes of queries, before it runs them: units, shapes, what is shared, and why some stay alone."""

from headgate.engine.explain.explanation import Explanation, explained
from headgate.engine.explain.shown import shown
from headgate.engine.explain.written import text

__all__ = ["Explanation", "explained", "shown", "text"]
