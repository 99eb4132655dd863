"""The query sets of the published experiments, drawn from a seed.

Each query is select → join with a stored relation → project. All three cost K·2^i, with i uniform in 0 … 4; select
and join have the same selectivity, uniform in [0.1, 1]; the project passes everything. K is set by the utilisation.
"""

from collections.abc import Mapping

import numpy as np

from headgate.model.network import Network, Query
from headgate.model.operator import Cost, Kind, Operator
from headgate.model.parameters import load

STREAM = "stream"
LEFT, RIGHT = "left", "right"


def single_stream(seed: int, queries: int = 500) -> Network:
    """Queries over one stream that all of them read, at K = 1; the class of a query is its cost class."""
    rng = np.random.default_rng([seed, 1])
    ops = [Operator(STREAM, Kind.SOURCE)]
    found = []
    for q in range(queries):
        i, cost, s = _draw(rng)
        ops += [
            Operator(f"q{q}.select", Kind.SELECT, (STREAM,), cost, s),
            Operator(f"q{q}.join", Kind.JOIN, (f"q{q}.select",), cost, s),
            Operator(f"q{q}.project", Kind.PROJECT, (f"q{q}.join",), cost),
        ]
        found.append(Query(f"q{q}", f"q{q}.project", cls=f"cost {2**i}"))
    return Network(tuple(ops), tuple(found))


def two_streams(seed: int, queries: int = 500, windows: tuple[float, float] = (1.0, 10.0)) -> Network:
    """Join queries over two streams: a select on each side, a window join, a project."""
    rng = np.random.default_rng([seed, 2])
    ops = [Operator(LEFT, Kind.SOURCE), Operator(RIGHT, Kind.SOURCE)]
    found = []
    for q in range(queries):
        i, cost, s = _draw(rng)
        window = float(rng.uniform(*windows))
        ops += [
            Operator(f"q{q}.left", Kind.SELECT, (LEFT,), cost, s),
            Operator(f"q{q}.right", Kind.SELECT, (RIGHT,), cost, s),
            Operator(f"q{q}.join", Kind.WINDOW_JOIN, (f"q{q}.left", f"q{q}.right"), cost, s, window),
            Operator(f"q{q}.project", Kind.PROJECT, (f"q{q}.join",), cost),
        ]
        found.append(Query(f"q{q}", f"q{q}.project", cls=f"cost {2**i}"))
    return Network(tuple(ops), tuple(found))


def shared_select(seed: int, groups: int = 50, size: int = 10) -> Network:
    """Groups of queries behind a shared select, which is drawn like any other operator."""
    rng = np.random.default_rng([seed, 3])
    ops = [Operator(STREAM, Kind.SOURCE)]
    found = []
    for g in range(groups):
        _, cost, s = _draw(rng)
        ops.append(Operator(f"g{g}.select", Kind.SELECT, (STREAM,), cost, s))
        for q in range(size):
            i, cost, s = _draw(rng)
            name = f"g{g}q{q}"
            ops += [
                Operator(f"{name}.join", Kind.JOIN, (f"g{g}.select",), cost, s),
                Operator(f"{name}.project", Kind.PROJECT, (f"{name}.join",), cost),
            ]
            found.append(Query(name, f"{name}.project", cls=f"cost {2**i}"))
    return Network(tuple(ops), tuple(found))


def at_utilisation(network: Network, streams: Mapping[str, float], utilisation: float) -> tuple[Network, float]:
    """The network with its costs scaled so that the streams' mean rates load the server that much, and the factor."""
    K = utilisation / load(network, streams)
    return network.scaled(K), K


def _draw(rng: np.random.Generator) -> tuple[int, Cost, float]:
    i = int(rng.integers(0, 5))
    return i, Cost(b=float(2**i)), float(rng.uniform(0.1, 1.0))
