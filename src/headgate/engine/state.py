"""The state folder of an engine: everything of it that outlives the process."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from headgate.engine.log.manifest import Manifest
from headgate.errors import InputError


@dataclass(frozen=True, slots=True)
class StateFolder:
    """The folder and its manifest; whether the last engine on it was left `in_order`; whether commits are synced."""

    path: Path
    manifest: Manifest
    in_order: bool
    sync: bool

    @classmethod
    def open(cls, path: Path, *, sync: bool, alone: bool) -> Self:
        """Open a folder, which is made if it is not there."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(
                "a state folder that can be made", f"{path} ({error.strerror})", "Name another folder."
            ) from None
        manifest = Manifest(path / "manifest.db", sync=sync, alone=alone)
        return cls(path, manifest, manifest.left_in_order(), sync)

    def panes(self, query: str) -> Path:
        """Where partial results of a query are."""
        return self.path / "panes" / query
