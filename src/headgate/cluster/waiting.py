"""What keeps a node from doing what is wanted, without being a mistake of anybody's."""

from headgate.errors import HeadgateError


class NotYetError(HeadgateError):
    """Something that others do, or that goes on here, has to come first."""


class LostSparkError(HeadgateError):
    """The node's Spark has ended, and nothing can be run here any more."""
