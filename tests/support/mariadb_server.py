"""A real MariaDB server for tests: own directory, own port, loopback only, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from postgres_server import free_port

HOW_TO_INSTALL = "MariaDB's server is not installed: apt-get install mariadb-server (or brew install mariadb)."
_PLACES = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin"])


@dataclass(frozen=True)
class MariaDBServer:
    """Where the server listens.

    ``url`` is the owner's; the user of ``reader_url`` may read and make temporary tables, that of
    ``plain_url`` may only read.
    """

    port: int

    @property
    def url(self) -> str:
        return f"mariadb://owner:open@127.0.0.1:{self.port}/hospital"

    @property
    def reader_url(self) -> str:
        return f"mariadb://reader:only@127.0.0.1:{self.port}/hospital"

    @property
    def plain_url(self) -> str:
        return f"mariadb://plain:only@127.0.0.1:{self.port}/hospital"


def find_programs() -> tuple[str, str] | None:
    """Return the paths of mariadb-install-db and mariadbd, or None."""
    found = tuple(shutil.which(name, path=_PLACES) for name in ("mariadb-install-db", "mariadbd"))
    return (found[0], found[1]) if found[0] and found[1] else None


@contextmanager
def run_mariadb() -> Iterator[MariaDBServer]:
    """Start a server, yield it, stop it. MariaDB should not run as root, so root becomes ``mysql`` or ``nobody``."""
    programs = find_programs()
    if programs is None:
        raise FileNotFoundError(HOW_TO_INSTALL)
    install, daemon = programs
    folder = Path(tempfile.mkdtemp(prefix="pydplib-mariadb-"))
    become: list[str] = []
    if os.geteuid() == 0:
        user = next(pwd.getpwnam(name) for name in ("mysql", "nobody") if _has_user(name))
        os.chown(folder, user.pw_uid, user.pw_gid)
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    data, port, log, start = folder / "data", free_port(), folder / "server.log", folder / "start.sql"
    start.write_text(
        "CREATE DATABASE IF NOT EXISTS hospital CHARACTER SET utf8mb4;\n"
        "CREATE USER owner@'127.0.0.1' IDENTIFIED BY 'open';\nGRANT ALL ON *.* TO owner@'127.0.0.1';\n"
        "CREATE USER reader@'127.0.0.1' IDENTIFIED BY 'only';\n"
        "GRANT SELECT, CREATE TEMPORARY TABLES ON hospital.* TO reader@'127.0.0.1';\n"
        "CREATE USER plain@'127.0.0.1' IDENTIFIED BY 'only';\nGRANT SELECT ON hospital.* TO plain@'127.0.0.1';\n"
    )
    start.chmod(0o644)
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    server: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run(
            [*become, install, "--no-defaults", f"--datadir={data}", "--skip-test-db"], check=True, timeout=120, **quiet
        )
        options = [f"--datadir={data}", f"--port={port}", "--bind-address=127.0.0.1", f"--socket={folder / 'socket'}"]
        options += [f"--pid-file={folder / 'pid'}", f"--init-file={start}", "--skip-name-resolve", "--skip-log-bin"]
        options += ["--innodb-flush-log-at-trx-commit=0", "--innodb-buffer-pool-size=64M", "--performance-schema=OFF"]
        with log.open("wb") as output:
            server = subprocess.Popen(
                [*become, daemon, "--no-defaults", *options], cwd=folder, stdout=output, stderr=output,
                start_new_session=True,
            )  # fmt: skip
        found = MariaDBServer(port)
        _wait(server, found)
        yield found
    finally:
        if server is not None and server.poll() is None:
            server.send_signal(signal.SIGTERM)
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def connect(server: MariaDBServer):
    """Return a connection of the owner, who may write."""
    import pymysql

    return pymysql.connect(
        host="127.0.0.1", port=server.port, user="owner", password="open", database="hospital", autocommit=True,
        charset="utf8mb4",
    )  # fmt: skip


def _has_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _wait(server: subprocess.Popen[bytes], found: MariaDBServer, seconds: float = 40) -> None:
    import pymysql

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError("MariaDB stopped while it was starting.")
        try:
            connect(found).close()
            return
        except pymysql.err.OperationalError:
            time.sleep(0.1)
    raise TimeoutError("MariaDB did not start in time.")
