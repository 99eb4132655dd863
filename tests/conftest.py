"""Hypothesis for the whole suite: the same examples in every run, so that a test passes or fails always."""

from hypothesis import settings

settings.register_profile("headgate", deadline=None, derandomize=True, max_examples=30)
settings.load_profile("headgate")
