"""Queries with deadlines: whether all can be met, what to shed so that they are, and when to look again."""
