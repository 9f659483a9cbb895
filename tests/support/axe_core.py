"""axe-core, which finds pages that some people cannot use: fetched once by npm, for tests alone."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

NPM = shutil.which("npm")
HERE = Path(__file__).parent / "npm"
needs_npm = pytest.mark.skipif(NPM is None, reason="needs npm, which fetches axe-core: sudo apt install npm")

RUN = """async () => {
  const found = await axe.run(document, { resultTypes: ["violations"] });
  return found.violations.map((rule) => `${rule.id}: ${rule.nodes[0].html.slice(0, 200)} (${rule.nodes.length} times)`);
}"""


def axe_script(cache: pytest.Cache) -> str:
    """Return the script of the version that ``npm/package-lock.json`` pins by its sum.

    It is kept in pytest's cache folder: later runs need no network.
    """
    folder = cache.mkdir(f"axe-{_pinned()}")
    script = folder / "node_modules" / "axe-core" / "axe.min.js"
    if not script.exists():
        assert NPM is not None
        for name in ("package.json", "package-lock.json"):
            shutil.copyfile(HERE / name, folder / name)
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
        done = subprocess.run([NPM, "ci", *options], cwd=folder, capture_output=True, text=True, timeout=300)
        if done.returncode or not script.exists():
            pytest.skip(f"npm could not fetch axe-core (is there a network?): run 'npm ci' in {folder}")
    return script.read_text("utf-8")


def _pinned() -> str:
    locked = json.loads((HERE / "package-lock.json").read_text("utf-8"))
    return str(locked["packages"]["node_modules/axe-core"]["version"])


def violations(page: Any, script: str) -> list[str]:
    """Return what axe finds on the page as it stands now; each rule with the first element that breaks it."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(script)
    found: list[str] = page.evaluate(RUN)
    return found
