"""Scenarios that several test files vary, and what reading one gives."""

from pathlib import Path

import pytest

from headgate.errors import InputError
from headgate.sim.scenario import load, run

CHAIN = """\
streams:
  ticks: {arrivals: poisson, rate: 100}
queries:
  big: {from: ticks, operators: [select: {cost: 1ms, selectivity: 0.5}]}
tuples: 100
policies: [fcfs]
"""

NETWORK = """\
streams:
  a: {arrivals: poisson, rate: 10}
operators:
  x: {kind: select, inputs: [a], cost: 1ms, selectivity: 0.5}
  y: {kind: select, inputs: [x], cost: 1ms, selectivity: 0.5}
queries:
  q: {output: y}
tuples: 100
policies: [fcfs]
"""

TESTBED = """\
streams: {stream: {arrivals: poisson, rate: 10}}
testbed: {kind: single-stream, queries: 5}
utilisation: 0.5
tuples: 20
policies: [fcfs]
"""

POISSON = "arrivals: poisson, rate: 100"

# A scenario, what is replaced in it (all, for None) and by what, line and column of the mistake, and what is said.


def scenario(text):
    Path("s.yaml").write_text(text)
    return load("s.yaml")


def message(text):
    with pytest.raises(InputError) as caught:
        run(scenario(text))
    return str(caught.value)
