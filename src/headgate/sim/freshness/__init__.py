"""Copies at a mirror, changes at their source and users who access them, event by event."""
