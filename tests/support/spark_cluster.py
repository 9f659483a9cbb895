"""A real Spark standalone cluster for tests: one master, two workers, loopback only, gone afterwards."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HOW_TO_INSTALL = (
    "Spark needs Java 17 and pyspark: apt-get install openjdk-17-jre-headless; pip install 'pydplib[spark]'."
)

QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""Short lives: the optimising compiler would cost more than it saves."""


@dataclass
class SparkCluster:
    """A running cluster: its address, and the processes that the tests may kill."""

    url: str
    folder: Path
    workers: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def executors(self) -> list[int]:
        """Return the process ids of the executors that this cluster's own workers have started."""
        found = []
        for worker in self.workers:
            for child in _descendants(worker.pid):
                command = Path(f"/proc/{child}/cmdline").read_bytes()
                if b"CoarseGrainedExecutorBackend" in command:
                    found.append(child)
        return found


def is_available() -> bool:
    """Return whether Java and pyspark are here."""
    from importlib.util import find_spec

    return shutil.which("java") is not None and find_spec("pyspark") is not None


@contextmanager
def run_cluster() -> Iterator[SparkCluster]:
    """Start master and workers, yield the cluster, stop all of them."""
    import pyspark

    home = Path(pyspark.__file__).parent
    folder = Path(tempfile.mkdtemp(prefix="pydplib-spark-"))
    # Spark's default is the machine's outer address; the wheel brings no start scripts.
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_DIRS": str(folder),
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": QUICK_JAVA,
    }
    port = _free_port()
    url = f"spark://127.0.0.1:{port}"
    started: list[subprocess.Popen[bytes]] = []

    def start(name: str, *arguments: str) -> subprocess.Popen[bytes]:
        with (folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [str(home / "bin" / "spark-class"), *arguments],
                env=environment, cwd=folder, stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip
        started.append(process)
        return process

    try:
        start("master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", str(port),
              "--webui-port", "0")  # fmt: skip
        _wait_for_log(folder / "master.log", "I have been elected leader", 60)
        cluster = SparkCluster(url, folder)
        for i in (1, 2):
            cluster.workers.append(
                start(f"worker{i}", "org.apache.spark.deploy.worker.Worker", url, "--host", "127.0.0.1", "--cores",
                      "1", "--memory", "1g", "--webui-port", "0", "--work-dir", str(folder / f"work{i}"))
            )  # fmt: skip
        for i in (1, 2):
            _wait_for_log(folder / f"worker{i}.log", "Successfully registered with master", 60)
        yield cluster
    finally:
        for process in reversed(started):
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        for process in started:
            try:
                process.wait(15)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def run_session(cluster: SparkCluster) -> Iterator[Any]:
    """Open a session on the cluster, loopback only, and stop it afterwards."""
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    from pyspark.sql import SparkSession

    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.memory": "512m",
        "spark.driver.extraJavaOptions": QUICK_JAVA,
        "spark.executor.extraJavaOptions": QUICK_JAVA,
        "spark.executor.memory": "512m",
        "spark.executor.cores": "1",
        "spark.sql.shuffle.partitions": "2",
        # Small tables, many questions: compiling each question costs more than running it.
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.eventLog.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.warehouse.dir": str(cluster.folder / "warehouse"),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "OFF",
        "spark.task.maxFailures": "8",
    }
    builder = SparkSession.builder.master(cluster.url).appName("pydplib tests")
    for key, value in settings.items():
        builder = builder.config(key, value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for_log(path: Path, words: str, seconds: float) -> None:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if words in path.read_text(errors="replace"):
            return
        time.sleep(0.1)
    raise TimeoutError(f"Spark did not start in time; see {path.name}.")


def _descendants(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += [int(child), *_descendants(int(child))]
    return found
