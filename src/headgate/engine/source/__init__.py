"""Where the tuples of a stream come from. What a user writes as `headgate.source`."""
