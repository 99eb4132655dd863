"""Which folders other machines may have too, by what the system says of them."""

from pathlib import Path

import pytest

from headgate.cluster.mounts import between_machines

MOUNTS = r"""
21 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 21 0:40 / /data rw,relatime shared:2 - nfs4 server:/data rw,vers=4.2
31 30 8:2 / /data/local rw,relatime - xfs /dev/sdb1 rw
32 21 0:41 / /with\040space rw - fuse.sshfs server: rw
33 21 8:3 / /twice rw - ext4 /dev/sdc1 rw
34 33 0:42 / /twice rw - cifs //server/twice rw
35 21 0:43 / /dev/shm rw - tmpfs tmpfs rw
""".strip()


@pytest.mark.parametrize(
    ("folder", "kind"),
    [
        ("/home/me/cluster", None),
        ("/data", "nfs4"),
        ("/data/cluster", "nfs4"),
        ("/data/local/cluster", None),
        ("/database", None),
        ("/with space/cluster", "fuse.sshfs"),
        ("/twice/cluster", "cifs"),
        ("/dev/shm/cluster", None),
    ],
)
def test_a_folder_is_on_the_file_system_that_is_mounted_next_above_it(tmp_path, folder, kind):
    mounts = tmp_path / "mountinfo"
    mounts.write_text(MOUNTS + "\n")
    assert between_machines(Path(folder), mounts) == kind


def test_a_system_that_does_not_tell_is_believed(tmp_path):
    assert between_machines(tmp_path, tmp_path / "none") is None
