"""The network that a scenario file describes, and the place in the file of what is wrong with it."""

import re
from itertools import chain, count

from headgate.document import Document, Loc, shown
from headgate.errors import InputError, choose
from headgate.model.network import Network, Query
from headgate.model.operator import FREE, Kind, Operator
from headgate.sim.scenario.file import OperatorSpec, ScenarioFile, StepSpec


def build(file: ScenarioFile, document: Document) -> Network:
    """The network of a file's queries and operators."""
    return _Builder(file, document).network()


class _Builder:
    """Makes the network of a file's queries and operators, and finds the place of what is wrong with it."""

    def __init__(self, file: ScenarioFile, document: Document) -> None:
        self.file, self.document = file, document
        self.queries = file.queries or {}
        self.known = dict.fromkeys([*file.streams, *file.operators])
        self.taken = set(self.known)
        self.operators = [Operator(name, Kind.SOURCE) for name in file.streams]
        self.found: list[Query] = []
        self.places: dict[str, Loc] = {}

    def network(self) -> Network:
        for name, spec in self.file.operators.items():
            self._operator(name, spec)
        for name in self.queries:
            self._query(name)
        try:
            network = Network(tuple(self.operators), tuple(self.found))
        except InputError as error:
            raise error.at(self.document.place(self._blamed(error))) from None
        for name in network.streams + tuple(self.file.operators):
            if not network.readers[name]:
                part = "streams" if name in self.file.streams else "operators"
                rule = "every stream and every operator is read by a query"
                self._refuse(
                    (part, name), rule, f"'{name}', which none reads", "Remove it, or add a query.", key=True
                )
        return network

    def _operator(self, name: str, spec: OperatorSpec) -> None:
        loc = ("operators", name)
        if name in self.file.streams:
            self._refuse(loc, "an operator has another name than the streams", f"'{name}'", "Rename it.", key=True)
        for i, source in enumerate(spec.inputs):
            self._require_known((*loc, "inputs", i), "every input", source)
        self._add(loc, name, spec.kind, tuple(spec.inputs), spec)

    def _query(self, name: str) -> None:
        loc, query = ("queries", name), self.queries[name]
        output = query.output
        if output is not None:
            self._require_known((*loc, "output"), "'output'", output)
        else:
            output = query.source or ""
            self._require_known((*loc, "from"), "'from'", output)
            for i, step in enumerate(query.operators or ()):
                for kind, spec in step.items():
                    before, output = output, self._free_name(f"{name}.{kind}")
                    self._add((*loc, "operators", i, kind), output, kind, (before,), spec)
        self.places.setdefault(f"query {name}", loc)
        self.found.append(Query(name, output, query.cls))

    def _add(self, loc: Loc, name: str, kind: Kind, inputs: tuple[str, ...], spec: StepSpec) -> None:
        self.places[f"operator {name}"] = loc
        self._require_numbers(loc, kind, spec)
        cost, selectivity = spec.price or FREE, 1.0 if spec.selectivity is None else spec.selectivity
        with self.document.at(*loc):
            self.operators.append(Operator(name, kind, inputs, cost, selectivity, spec.window))

    def _require_numbers(self, loc: Loc, kind: Kind, spec: StepSpec) -> None:
        """A forgotten cost would make an operator free, and a forgotten selectivity a select that passes all."""
        if spec.cost is None and kind not in (Kind.UNION, Kind.OUTPUT):
            self._refuse(loc, f"a {kind} has the key 'cost'", "none", "Add it, as in cost: 2ms.")
        if spec.selectivity is None and kind in (Kind.SELECT, Kind.JOIN, Kind.WINDOW_JOIN, Kind.AGGREGATE):
            self._refuse(loc, f"a {kind} has the key 'selectivity'", "none", "Add it, as in selectivity: 0.1.")
        if spec.window is None and kind is Kind.WINDOW_JOIN:
            self._refuse(loc, "a window_join has the key 'window'", "none", "Add it, as in window: 10s.")

    def _free_name(self, name: str) -> str:
        free = next(n for n in (f"{name}{i or ''}" for i in chain([0], count(2))) if n not in self.taken)
        self.taken.add(free)
        return free

    def _require_known(self, loc: Loc, subject: str, name: str) -> None:
        if name not in self.known:
            self._refuse(loc, f"{subject} names a stream or an operator", shown(name), choose(name, self.known))

    def _blamed(self, error: InputError) -> Loc:
        """The place of the operator or query that a network's complaint is about."""
        if "cycle" in error.rule:
            return (*self.places[f"operator {str(error.got).split(' -> ')[0]}"], "inputs")
        about = re.match(r"(query|operator) '(.*?)':", error.rule)
        return self.places.get(f"{about[1]} {about[2]}", ()) if about else ()

    def _refuse(self, loc: Loc, rule: str, got: str, remedy: str, *, key: bool = False) -> None:
        raise InputError(rule, got, remedy, self.document.place(loc, key=key))
