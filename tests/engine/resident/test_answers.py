import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from headgate.engine.kernel.program import Answer
from headgate.engine.resident import answers

COLUMNS = {
    "n": (pa.int64(), st.none() | st.integers(-(2**63), 2**63 - 1)),
    "x": (pa.float64(), st.none() | st.floats(allow_nan=False)),
    "s": (pa.string(), st.none() | st.text(max_size=5)),
    "b": (pa.bool_(), st.none() | st.booleans()),
}


@st.composite
def tables(draw):
    names = draw(st.lists(st.sampled_from(sorted(COLUMNS)), min_size=1, unique=True))
    rows = draw(st.integers(0, 6))
    values = {name: draw(st.lists(COLUMNS[name][1], min_size=rows, max_size=rows)) for name in names}
    made = pa.table({name: pa.array(values[name], COLUMNS[name][0]) for name in names})
    return made.slice(draw(st.integers(0, rows)))


@given(st.lists(tables(), max_size=4), st.dictionaries(st.integers(0, 9), st.text(max_size=5)))
def test_an_answer_is_the_same_when_it_was_packed(parts, errors):
    answer = Answer(tuple(parts), errors)
    sizes, body = answers.packed(answer)
    assert answers.unpacked(sizes, errors, body) == answer
    assert sum(sizes) == body.size


def test_a_slice_is_not_packed_with_what_it_was_cut_from():
    whole = pa.table({"n": range(100_000)})
    _, body = answers.packed(Answer((whole.slice(10, 5),)))
    assert body.size < 1000
