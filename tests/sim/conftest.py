from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("one.tl").write_text("1 10\n")
    Path("empty.tl").write_text("")
    Path("back.tl").write_text("1 10\n2 10\n1.5 10\n")
    Path("text.csv").write_text("t,n\n1,2\nnoon,3\n")
    return tmp_path
