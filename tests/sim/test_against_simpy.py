"""Both kernels against an independent model of the same system in SimPy, departure by departure."""

import ast
import inspect
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headgate.bench import simpy_model
from headgate.sim import draws
from headgate.sim.run import Setting
from headgate.sim.testbed import at_utilisation, single_stream
from helpers import chains, on_compiled, on_events

SETTINGS = [
    ("fcfs", {}),
    ("hr", {}),
    ("hnr", {}),
    ("srpt", {}),
    ("lsf", {}),
    ("bsd", {}),
    ("rr", {"runs": 1}),
    ("rr", {"runs": 3}),
    ("rr", {"runs": math.inf}),
    ("rr", {"runs": math.inf, "quantum": 1.5}),
    ("rr", {"runs": 2, "quantum": 0.7}),
]
each_setting = pytest.mark.parametrize(
    ("policy", "options"), SETTINGS, ids=["-".join(map(str, (p, *o.values()))) for p, o in SETTINGS]
)


def paths_of(network):
    """The queries of a network of chains as the SimPy model takes them."""
    inputs = {op.name: op.inputs for op in network.operators}
    found = []
    for query in network.queries:
        path, name = [], query.output
        while inputs[name]:
            op = network.by_name[name]
            path.insert(0, (op.cost.b, op.selectivity, network.ids[name]))
            [name] = inputs[name]
        found.append(path)
    return found


def random_arrivals(rng, n):
    """Times with idle gaps, bursts, and several tuples at one instant."""
    gaps = rng.exponential(rng.uniform(0.2, 5.0), n)
    return np.cumsum(np.where(rng.random(n) < 0.3, 0.0, gaps))


def random_workload(seed):
    rng = np.random.default_rng(seed)
    if rng.random() < 0.5:
        paths = [
            list(zip(rng.uniform(0.01, 2.0, n).tolist(), rng.uniform(0.1, 1.0, n).tolist(), strict=True))
            for n in rng.integers(1, 5, int(rng.integers(1, 7)))
        ]
        network = chains(*paths)
    else:
        network, _ = at_utilisation(single_stream(seed, 8), {"stream": 1.0}, float(rng.uniform(0.3, 2.0)))
    return network, random_arrivals(rng, 40)


def assert_same(found, expected):
    assert [(query, item) for query, item, _ in found] == [(d.query, d.item) for d in expected]
    assert [time for *_, time in found] == pytest.approx([d.time for d in expected], rel=1e-9)


@each_setting
@pytest.mark.parametrize("kernel", [on_events, on_compiled], ids=["events", "compiled"])
@settings(max_examples=25)
@given(seed=st.integers(0, 2**32))
def test_a_kernel_departs_as_the_simpy_model_does(kernel, policy, options, seed):
    network, arrivals = random_workload(seed)
    reference = simpy_model.run(paths_of(network), arrivals.tolist(), seed, policy, **options)
    departures, report = kernel(network, arrivals, Setting(policy, options), seed)
    assert_same(departures, reference.departures)
    assert report.runs == reference.executions == len(network.queries) * len(arrivals)


@given(seed=st.integers(0, 2**63), item=st.integers(0, 2**44), operator=st.integers(0, 10_000))
def test_the_model_draws_what_the_kernels_draw(seed, item, operator):
    word = draws.Word
    assert simpy_model.draw(seed, item, operator) == draws.draw(word(seed), word(item), word(operator))


def test_the_model_knows_no_other_policy():
    with pytest.raises(ValueError, match="chain"):
        simpy_model.run([[(1.0, 1.0, 1)]], [0.0], 0, "chain")


def test_the_model_is_independent_of_the_rest():
    tree = ast.parse(inspect.getsource(simpy_model))
    imported = {
        name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for name in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert not any(name.split(".")[0] == "headgate" for name in imported)
    assert "simpy" in imported
