"""Scenarios: files that describe streams, queries over them and the policies to compare."""

from headgate.sim.scenario.scenario import DEMO, Scenario, ScenarioResult, load, run

__all__ = ["DEMO", "Scenario", "ScenarioResult", "load", "run"]
