import subprocess
import sys
from dataclasses import replace

import pytest

from headgate.engine.resident.process import Process, _started


@pytest.fixture
def child():
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as made:
        yield made
        made.kill()


def of(child):
    return replace(Process.this(), pid=child.pid, started=_started(child.pid))


def test_a_process_is_killed(child):
    assert of(child).kill()
    assert child.wait(10) == -9


@pytest.mark.parametrize("other", [{"started": "1"}, {"started": ""}, {"machine": "elsewhere"}])
def test_another_process_of_that_number_is_not(child, other):
    assert not replace(of(child), **other).kill()
    assert child.poll() is None


def test_one_that_is_gone_is_not_looked_for(child):
    known = of(child)
    child.kill()
    child.wait()
    assert not known.kill()
