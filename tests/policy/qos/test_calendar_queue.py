"""The calendar queue gives what a sorted list would, whatever goes in and out."""

from hypothesis import given
from hypothesis import strategies as st

from headgate.policy.qos.calendar_queue import CalendarQueue

TIMES = st.floats(-10.0, 1e6) | st.integers(0, 20).map(float)
STEPS = st.lists(st.tuples(st.sampled_from(["insert", "delete", "pop"]), TIMES), max_size=120)


@given(STEPS)
def test_what_is_due_comes_out_in_order(steps):
    queue, model = CalendarQueue(), []
    for x, (step, t) in enumerate(steps):
        if step == "insert":
            queue.insert(t, x)
            model.append((t, x))
        elif step == "delete" and model:
            event = model.pop(x % len(model))
            queue.delete(*event)
        elif step == "pop":
            due = sorted(event for event in model if event[0] <= t)
            assert queue.pop_until(t) == due
            model = [event for event in model if event[0] > t]
        assert len(queue) == len(model)
    assert queue.pop_until(1e9) == sorted(model)


def test_it_grows_and_shrinks_with_what_is_in_it():
    queue = CalendarQueue()
    for x in range(1000):
        queue.insert(x / 7, x)
    grown = len(queue._pages)
    assert 500 <= grown <= 1024
    # A few events to a day, so that none is searched for among many.
    assert max(map(len, queue._pages)) <= 25
    queue.pop_until(140.0)
    assert len(queue._pages) < grown
