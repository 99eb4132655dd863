"""The train kernel: a run takes a slice of a queue, so that millions of tuples pass without an event for each."""
