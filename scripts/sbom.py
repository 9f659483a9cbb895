"""Write the bill of materials (CycloneDX 1.6) of what `make run` installs: pinned packages and vendored files.

Usage: python scripts/sbom.py [OUTPUT]
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
VENDORED = ROOT / "src/pydplib/web/design/vendored.toml"


def packages(lock: str) -> list[dict[str, Any]]:
    """Return the pinned packages of a lock file with their hashes."""
    found = []
    for name, version, rest in re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==(\S+)(.*(?:\n    .*)*)", lock, re.M):
        found.append(
            {
                "type": "library",
                "bom-ref": f"pkg:pypi/{name}@{version}",
                "name": name,
                "version": version,
                "purl": f"pkg:pypi/{name}@{version}",
                # One package has several files (wheels, source); any of these is the right one.
                "hashes": [{"alg": "SHA-256", "content": sum_} for sum_ in re.findall(r"sha256:([0-9a-f]{64})", rest)],
            }
        )
    return found


def vendored(table: str) -> list[dict[str, Any]]:
    """Return the files that were made elsewhere and are kept in the package."""
    return [
        {
            "type": "file",
            "bom-ref": f"file:{file['path']}",
            "name": file["path"],
            "version": file["version"],
            "purl": f"pkg:npm/{file['package'].replace('@', '%40')}@{file['version']}",
            "licenses": [{"license": {"id": file["license"]}}],
            "hashes": [{"alg": "SHA-256", "content": file["sha256"]}],
        }
        for file in tomllib.loads(table)["file"]
    ]


def bill(version: str, lock: str, table: str) -> dict[str, Any]:
    """Return the whole bill; the same inputs give the same text."""
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                "type": "application",
                "bom-ref": f"pkg:pypi/pydplib@{version}",
                "name": "pydplib",
                "version": version,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
            }
        },
        "components": packages(lock) + vendored(table),
    }


def main(arguments: list[str]) -> None:
    version = re.search(r'"([^"]+)"', (ROOT / "src/pydplib/_version.py").read_text(encoding="utf-8").split("=")[-1])
    made = bill(
        version[1] if version else "0",
        (ROOT / "locks/run.lock").read_text(encoding="utf-8"),
        VENDORED.read_text(encoding="utf-8"),
    )
    text = json.dumps(made, indent=2) + "\n"
    if arguments:
        Path(arguments[0]).write_text(text, encoding="utf-8")
    else:
        sys.stdout.write(text)


if __name__ == "__main__":
    main(sys.argv[1:])
