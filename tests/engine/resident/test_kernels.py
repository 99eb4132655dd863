from dataclasses import asdict, replace

import pytest

from engine.resident.programs import ABOVE, above, program, train
from headgate.engine.kernel.ir import Column
from headgate.engine.kernel.program import Add
from headgate.engine.reader import JobInput, StreamInput
from headgate.engine.resident import in_job
from headgate.engine.resident.kernels import Kernels


def test_a_program_whose_change_fails_is_forgotten():
    kernels = Kernels()
    kernels.apply("p", {}, [above(1)])
    assert kernels.applied("p") == 1
    with pytest.raises(AttributeError):
        kernels.apply("p", {}, [above(2, first=1), "no change"])
    assert kernels.applied("p") == 0


def test_so_many_programs_are_kept():
    kernels = Kernels()
    for name in "abc":
        kernels.apply(name, {}, [above(1)])
    kernels.apply("a", {}, [above(2, first=1)])
    kernels.keep(2)
    assert [kernels.applied(name) for name in "abc"] == [2, 0, 1]


def test_a_job_that_is_for_fewer_changes_than_are_known_begins_anew(monkeypatch):
    monkeypatch.setattr(in_job, "_kernels", Kernels())
    later = program(1)
    earlier = replace(later, changes=list(later.changes))
    later.changes.append(above(2, first=1))
    for asked, changes in ((later, 2), (earlier, 1), (later, 2)):
        in_job.answer(asked)
        assert in_job._kernels.applied(asked.id) == changes


@pytest.mark.parametrize("hidden", ["_time", "_pane", "_late", "_position"])
def test_hidden_columns_are_there_one_by_one(tmp_path, hidden):
    (_, stream), *_ = train(tmp_path, 10).streams.items()
    given = JobInput({"s": StreamInput(stream.slices, "_arrival")}, window=(4, 2))
    kernels = Kernels()
    shape = Add(ABOVE.__class__("s", (), (), None, ((hidden, Column(hidden, "bigint")),)), [0])
    kernels.apply("p", {}, [shape])
    (part,) = kernels.run("p", "s", asdict(given)).parts
    wanted = {
        "_time": range(10),
        "_pane": [n // 2 * 2 for n in range(10)],
        "_late": [None] * 10,
        "_position": range(10),
    }
    assert part.column(1).to_pylist() == list(wanted[hidden])
