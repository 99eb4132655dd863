"""What kind of file system a folder is on: engines that share one have to be on one machine."""

from pathlib import Path

_MOUNTS = Path("/proc/self/mountinfo")
_BETWEEN_MACHINES = (
    "nfs",
    "cifs",
    "smb",
    "fuse",
    "9p",
    "afs",
    "ceph",
    "gluster",
    "lustre",
    "gpfs",
    "beegfs",
    "ocfs2",
)


def between_machines(folder: Path, mounts: Path = _MOUNTS) -> str | None:
    """The file system of a folder that other machines may have too, as the system calls it; None of any other."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        # A system that does not tell. The documentation says the rest.
        return None
    path, kind, longest = folder.resolve(), "", -1
    for line in lines:
        before, _, after = line.partition(" - ")
        place = Path(before.split(" ")[4].encode().decode("unicode_escape"))
        # Of two on the same place, the later one covers the other.
        if path.is_relative_to(place) and len(place.parts) >= longest:
            kind, longest = after.split(" ")[0], len(place.parts)
    return kind if kind.startswith(_BETWEEN_MACHINES) else None
