"""A PostgreSQL of one's own, for a while: on a free port of this machine, in a folder that goes with it."""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

JAR = Path("/usr/share/java/postgresql.jar")
_PLACES = Path("/usr/lib/postgresql")
_USER = "postgres"


def missing() -> str:
    """What is not there of what it takes; an empty text if nothing is."""
    if _programs() is None or not JAR.exists():
        return "PostgreSQL and its JDBC driver (Debian, Ubuntu: apt-get install postgresql libpostgresql-jdbc-java)"
    if os.geteuid() == 0 and (_owner() is None or shutil.which("runuser") is None):
        return f"a user {_USER} and runuser, since PostgreSQL does not run as root"
    return ""


@contextmanager
def running() -> Iterator["Postgres"]:
    """A database that listens on this machine alone, and is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="headgate-postgres-") as folder:
        made = Postgres(Path(folder))
        made.start()
        try:
            yield made
        finally:
            made.stop()


class Postgres:
    """A database in a folder. Root lends it to the user that Debian's package has for it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._as = ["runuser", "-u", _USER, "--"] if os.geteuid() == 0 else []
        if self._as and (owner := _owner()) is not None:
            os.chown(folder, owner, -1)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.url = f"jdbc:postgresql://127.0.0.1:{self.port}/postgres"
        self.properties = {"user": _USER}
        self._made = False

    def start(self) -> None:
        """Make it, unless it was stopped before, and wait until it answers."""
        data = str(self.folder / "data")
        if not self._made:
            self._run("initdb", "-D", data, "-U", _USER, "-A", "trust", "--no-sync", "-E", "UTF8")
            self._made = True
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories= -c fsync=off"
        self._run("pg_ctl", "-D", data, "-l", str(self.folder / "log"), "-w", "-o", options, "start")

    def stop(self) -> None:
        """End it at once."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", "immediate", "stop")

    def sql(self, text: str) -> list[str]:
        """Run statements; gives the lines of the answer."""
        return self._run("psql", *self._where(), "-c", text).splitlines()

    @contextmanager
    def connected(self) -> Iterator["Connection"]:
        """A connection that stays, for many statements."""
        command = [*self._as, self._program("psql"), *self._where()]
        with subprocess.Popen(  # noqa: S603 - our own command
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1, cwd=self.folder
        ) as process:
            yield Connection(process)

    def _where(self) -> list[str]:
        return ["-h", "127.0.0.1", "-p", str(self.port), "-U", _USER, "-v", "ON_ERROR_STOP=1", "-q", "-A", "-t"]

    @staticmethod
    def _program(name: str) -> str:
        return str((_programs() or Path()) / name)

    def _run(self, program: str, *arguments: str) -> str:
        command = [*self._as, self._program(program), *arguments]
        # Into a file: the server would keep a pipe open for as long as it lives.
        with tempfile.TemporaryFile("w+") as said:
            done = subprocess.run(  # noqa: S603 - our own command
                command, stdout=said, stderr=subprocess.STDOUT, cwd=self.folder, check=False
            )
            said.seek(0)
            text = said.read()
        if done.returncode:
            raise OSError(text.strip() or f"{program} failed")
        return text


class Connection:
    """Statements that are done when they return."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def do(self, statement: str) -> None:
        """Run a statement, and wait until it is committed."""
        stdin, stdout = self._process.stdin, self._process.stdout
        if stdin is None or stdout is None:
            msg = "a connection without pipes"
            raise OSError(msg)
        stdin.write(f"{statement};\nSELECT 'done';\n")
        stdin.flush()
        if stdout.readline().strip() != "done":
            msg = f"not done: {statement}"
            raise OSError(msg)


def _programs() -> Path | None:
    found = sorted(_PLACES.glob("*/bin/pg_ctl"), key=lambda path: float(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("pg_ctl")
    return Path(on_path).parent if on_path else None


def _owner() -> int | None:
    try:
        return pwd.getpwnam(_USER).pw_uid
    except KeyError:
        return None
