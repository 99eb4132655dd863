"""How much to drop, and of what: load managers and droppers."""
