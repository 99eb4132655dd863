"""Which copies to refresh, and how often, within a budget: profiles, optima, heuristics, schedules, change rates."""
