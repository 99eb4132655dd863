from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("symbols.csv").write_text("sym,sector\nAAA,energy\n")
    Path("ticks.csv").write_text("sym,price,ts\nAAA,1.5,2026-01-01T00:00:00Z\n")
    Path("incoming").mkdir()
    return tmp_path
