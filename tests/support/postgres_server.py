"""A real PostgreSQL server for tests: own directory, own port, loopback only, gone afterwards."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

HOW_TO_INSTALL = "PostgreSQL's server is not installed: apt-get install postgresql (or brew install postgresql)."


@dataclass(frozen=True)
class PostgresServer:
    """Where the server listens; ``url`` is the owner's, ``reader_url`` a role that may only read."""

    port: int

    @property
    def url(self) -> str:
        return f"postgresql://postgres@127.0.0.1:{self.port}/postgres"

    @property
    def reader_url(self) -> str:
        return f"postgresql://reader@127.0.0.1:{self.port}/postgres"


def find_programs() -> Path | None:
    """Return the directory of initdb and postgres, or None."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    versions = sorted(Path("/usr/lib/postgresql").glob("*/bin"), key=lambda p: int(p.parent.name.split(".")[0]))
    return versions[-1] if versions else None


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def run_postgres() -> Iterator[PostgresServer]:
    """Start a server, yield it, stop it. PostgreSQL refuses to run as root, so root becomes ``postgres``."""
    programs = find_programs()
    if programs is None:
        raise FileNotFoundError(HOW_TO_INSTALL)
    folder = Path(tempfile.mkdtemp(prefix="pydplib-postgres-"))
    become: list[str] = []
    if os.geteuid() == 0:
        user = pwd.getpwnam("postgres")
        os.chown(folder, user.pw_uid, user.pw_gid)
        become = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
    data, port, log = folder / "data", free_port(), folder / "server.log"
    quiet = {"cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    initdb = [*become, str(programs / "initdb"), "-D", str(data), "-U", "postgres", "--auth=trust", "--no-sync"]
    server: subprocess.Popen[bytes] | None = None
    try:
        subprocess.run([*initdb, "--encoding=UTF8", "--locale=C.UTF-8"], check=True, timeout=120, **quiet)
        settings = [f"port={port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={folder}"]
        settings += ["fsync=off", "synchronous_commit=off", "shared_buffers=64MB", "max_connections=40"]
        options = [part for setting in settings for part in ("-c", setting)]
        with log.open("wb") as output:
            server = subprocess.Popen(
                [*become, str(programs / "postgres"), "-D", str(data), *options],
                cwd=folder, stdout=output, stderr=output, start_new_session=True,
            )  # fmt: skip
        _wait(server, port)
        yield PostgresServer(port)
    finally:
        if server is not None and server.poll() is None:
            server.send_signal(signal.SIGINT)  # fast shutdown
            try:
                server.wait(20)
            except subprocess.TimeoutExpired:
                server.kill()
                server.wait()
        shutil.rmtree(folder, ignore_errors=True)


def _wait(server: subprocess.Popen[bytes], port: int, seconds: float = 40) -> None:
    import psycopg

    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if server.poll() is not None:
            raise RuntimeError("PostgreSQL stopped while it was starting.")
        try:
            with psycopg.connect(PostgresServer(port).url, autocommit=True, connect_timeout=2) as connection:
                connection.execute("CREATE ROLE reader LOGIN")
                connection.execute("ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO reader")
            return
        except psycopg.OperationalError:
            time.sleep(0.1)
    raise TimeoutError("PostgreSQL did not start in time.")
