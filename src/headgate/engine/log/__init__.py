"""The log: every stream as a sequence of immutable trains, and one manifest of what has been committed."""
