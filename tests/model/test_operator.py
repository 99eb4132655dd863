"""Operators: what each kind accepts, and how a mistake is named."""

import math

import pytest

from headgate.errors import HeadgateError, InputError
from headgate.model.operator import FREE, Cost, Kind, Operator

INPUTS = {Kind.SOURCE: (), Kind.WINDOW_JOIN: ("l", "r"), Kind.UNION: ("l", "r")}
ONE_INPUT = [kind for kind in Kind if kind not in INPUTS]
EXACTLY_ONE = [Kind.SOURCE, Kind.PROJECT, Kind.UNION, Kind.OUTPUT]
AT_MOST_ONE = [Kind.SELECT, Kind.WINDOW_JOIN, Kind.AGGREGATE]
UNBOUNDED = [Kind.MAP, Kind.JOIN]


def make(kind, s=1.0, inputs=None, window=None):
    default = 5.0 if kind is Kind.WINDOW_JOIN else None
    given = INPUTS.get(kind, ("in",)) if inputs is None else inputs
    return Operator("op", kind, given, Cost(b=1.0), s, window or default)


def refusal(action):
    with pytest.raises(InputError) as caught:
        action()
    return caught.value


@pytest.mark.parametrize("kind", Kind)
def test_every_kind_can_be_made(kind):
    assert make(kind).kind is kind


@pytest.mark.parametrize("field", ["a", "b"])
@pytest.mark.parametrize("value", [-1.0, -1e-12, math.nan, math.inf, -math.inf])
def test_a_cost_that_is_no_time_is_refused(field, value):
    error = refusal(lambda: Cost(**{field: value}))
    assert error.rule.startswith("a cost is a finite number of seconds, zero or more")
    assert f"({field} in a + b·n)" in error.rule
    assert error.got is value
    assert error.remedy == "Give the time one tuple takes, such as 0.002."


@pytest.mark.parametrize("kind", AT_MOST_ONE + UNBOUNDED)
@pytest.mark.parametrize("s", [0.0, -0.5, math.nan, math.inf])
def test_a_selectivity_that_is_no_positive_number_is_refused(kind, s):
    error = refusal(lambda: make(kind, s))
    assert error.rule.startswith(f"operator 'op': the selectivity of a {kind} is above 0")
    assert error.got is s
    assert error.remedy == "Give the number of output tuples per input tuple."


@pytest.mark.parametrize("kind", AT_MOST_ONE)
def test_a_kind_that_makes_nothing_has_a_selectivity_of_one_at_most(kind):
    assert make(kind, 0.001).selectivity == 0.001
    error = refusal(lambda: make(kind, 1.001))
    assert error.rule.endswith("above 0 and at most 1")
    assert error.got == 1.001


@pytest.mark.parametrize("kind", UNBOUNDED)
def test_a_map_or_a_join_may_give_several_tuples_for_one(kind):
    assert make(kind, 7.5).selectivity == 7.5


@pytest.mark.parametrize("kind", EXACTLY_ONE)
@pytest.mark.parametrize("s", [0.5, 2.0, math.nan])
def test_a_kind_that_passes_everything_on_has_a_selectivity_of_one(kind, s):
    error = refusal(lambda: make(kind, s))
    assert error.rule == f"operator 'op': the selectivity of a {kind} is 1, it passes every tuple on"
    assert error.got is s
    assert error.remedy == "Leave the selectivity out, or use a select or a map."


@pytest.mark.parametrize(
    ("kind", "inputs", "takes", "got"),
    [
        (Kind.SOURCE, ("x",), "no input", "1 (x)"),
        *[(kind, (), "exactly 1 input", "0 (none)") for kind in ONE_INPUT if kind is not Kind.JOIN],
        *[(kind, ("x", "y"), "exactly 1 input", "2 (x, y)") for kind in ONE_INPUT if kind is not Kind.JOIN],
        (Kind.JOIN, (), "1 to 2 inputs", "0 (none)"),
        (Kind.JOIN, ("x", "y", "z"), "1 to 2 inputs", "3 (x, y, z)"),
        (Kind.WINDOW_JOIN, ("x",), "exactly 2 inputs", "1 (x)"),
        (Kind.WINDOW_JOIN, ("x", "y", "z"), "exactly 2 inputs", "3 (x, y, z)"),
        (Kind.UNION, (), "2 inputs or more", "0 (none)"),
        (Kind.UNION, ("x",), "2 inputs or more", "1 (x)"),
    ],
)
def test_a_wrong_number_of_inputs_is_refused(kind, inputs, takes, got):
    error = refusal(lambda: make(kind, inputs=inputs))
    assert error.rule == f"operator 'op': a {kind} takes {takes}"
    assert error.got == got
    assert error.remedy == "Name as many input operators as that."


def test_a_union_takes_any_number_of_inputs_from_two_on():
    assert len(make(Kind.UNION, inputs=tuple("abcde")).inputs) == 5


@pytest.mark.parametrize("window", [None, 0.0, -1.0, math.nan, math.inf])
def test_a_window_join_needs_a_window(window):
    error = refusal(lambda: Operator("op", Kind.WINDOW_JOIN, ("l", "r"), window=window))
    assert error.rule == "operator 'op': a window join needs a window longer than 0 seconds"
    assert error.got is window
    assert error.remedy == "Give the window in seconds, such as window: 10."


@pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.WINDOW_JOIN])
def test_nothing_else_has_a_window(kind):
    error = refusal(lambda: make(kind, window=3.0))
    assert error.rule == "operator 'op': only a window join has a window"
    assert error.got == f"window 3.0 on a {kind}"
    assert error.remedy == "Remove the window, or make it a window_join of two inputs."


def test_a_refusal_reads_as_rule_value_and_remedy_and_takes_a_place():
    error = refusal(lambda: Cost(b=-2.0))
    assert isinstance(error, HeadgateError)
    assert str(error) == f"{error.rule}; got -2.0. {error.remedy}"
    assert str(error.at("file.yaml:3")) == f"file.yaml:3: {error}"
    assert str(error.at("inner").at("outer")) == f"inner: {error}"


def test_costs_add_scale_and_grow_with_the_train():
    cost = Cost(2.0, 0.5)
    assert cost.of(1) == 2.5
    assert cost.of(10) == 7.0
    assert cost + Cost(1.0, 1.0) == Cost(3.0, 1.5)
    assert cost.scaled(4.0) == Cost(8.0, 2.0)
    assert Cost() == FREE
    assert FREE.of(100) == 0.0


def test_a_slower_machine_changes_the_cost_of_an_operator_and_nothing_else():
    op = Operator("j", Kind.WINDOW_JOIN, ("l", "r"), Cost(1.0, 2.0), 0.5, 3.0)
    assert op.scaled(3.0) == Operator("j", Kind.WINDOW_JOIN, ("l", "r"), Cost(3.0, 6.0), 0.5, 3.0)
