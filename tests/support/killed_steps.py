"""Pieces of code, each in a process of its own that may be killed: one process imports Django once and forks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

BEGIN = """
import json, os, signal, sys
import django
django.setup()

def die(*args, **more):
    os.kill(os.getpid(), signal.SIGKILL)
"""

SERVE = """
import traceback
for line in sys.stdin:
    code, args = json.loads(line)
    out_read, out_write = os.pipe()
    child = os.fork()
    if not child:
        os.close(out_read)
        sys.argv, sys.stdout, status = ["-c", *args], os.fdopen(out_write, "w"), 0
        try:
            exec(code, globals())
        except BaseException:
            status = 1
            traceback.print_exc(file=sys.stdout)
        sys.stdout.flush()
        os._exit(status)
    os.close(out_write)
    with os.fdopen(out_read) as output:
        text = output.read()
    _, status = os.waitpid(child, 0)
    print(json.dumps([os.waitstatus_to_exitcode(status), text]), flush=True)
"""


class Steps:
    """Runs pieces of code. What a piece prints last, as JSON, comes back.

    Args:
        home: The server's home.
        begin: What is imported once, before all pieces.
    """

    def __init__(self, home: Path, begin: str) -> None:
        environment = os.environ | {"PYDPLIB_HOME": str(home), "DJANGO_SETTINGS_MODULE": "pydplib.web.settings"}
        environment["PYTHONPATH"] = os.pathsep.join([str(Path(__file__).parent), environment.get("PYTHONPATH", "")])
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(
            [sys.executable, "-c", BEGIN + begin + SERVE], stdin=pipe, stdout=pipe, text=True, env=environment
        )
        self("from django.core.management import call_command; call_command('migrate', verbosity=0)")

    def __call__(self, *parts: str, args: tuple[str, ...] = (), killed: bool = False) -> Any:
        """Run one piece; ``killed`` says that it must not survive."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(json.dumps(["\n".join(parts), args]) + "\n")
        self.process.stdin.flush()
        code, text = json.loads(self.process.stdout.readline())
        assert code == (-9 if killed else 0), text
        return json.loads(text.splitlines()[-1]) if text.strip() and not killed else None

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait(timeout=30)
