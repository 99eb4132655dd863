"""Backend 1: a discrete-event simulator that drives the same policies as the engine."""
