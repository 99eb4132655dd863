"""Tables at hand as a stream."""

import pyarrow as pa
import pytest

from engine.source.intake import START, fed
from headgate.engine import source
from headgate.errors import InputError


def test_every_table_of_a_list_is_a_train():
    found = fed(source.rows([pa.table({"n": [1, 2]}), pa.record_batch({"n": [3]})], every="2s"))
    assert [train["n"].to_pylist() for train in found.trains] == [[1, 2], [3]]
    assert found.clock == START + 4


def test_a_table_is_one_train_with_the_types_of_streams():
    found = fed(source.rows(pa.table({"s": pa.array(["a", "b"]).dictionary_encode()})))
    assert found.schema == pa.schema([("s", pa.string())])
    assert len(found.trains) == 1


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ([], "at least one"),
        ([{"n": [1]}], "Arrow tables; got dict"),
        ([pa.table({"n": [1]}), pa.table({"n": ["x"]})], "column 'n' is BIGINT; got string"),
        ([pa.table({"n": [1]}), pa.table({"m": [1]})], "column 'n' is BIGINT; got a table where it is missing"),
    ],
)
def test_what_is_no_list_of_tables_with_the_same_columns_is_refused(tables, message):
    with pytest.raises(InputError, match=message):
        source.rows(tables)
