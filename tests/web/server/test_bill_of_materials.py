"""The bill of materials names every pinned package and every vendored file, with checksums."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_bill_names_all_that_is_installed(tmp_path) -> None:
    subprocess.run([sys.executable, str(ROOT / "scripts/sbom.py"), str(tmp_path / "sbom.json")], check=True)
    made = json.loads((tmp_path / "sbom.json").read_text())
    assert (made["bomFormat"], made["specVersion"]) == ("CycloneDX", "1.6")
    libraries = {part["name"] for part in made["components"] if part["type"] == "library"}
    lock = (ROOT / "locks/run.lock").read_text(encoding="utf-8")
    assert (
        libraries == set(re.findall(r"^([A-Za-z0-9._-]+)(?:\[.*\])?==", lock, re.M)) >= {"django", "segno", "waitress"}
    )
    files = {part["name"]: part for part in made["components"] if part["type"] == "file"}
    vendored = tomllib.loads((ROOT / "src/pydplib/web/design/vendored.toml").read_text(encoding="utf-8"))["file"]
    assert set(files) == {file["path"] for file in vendored}
    assert all(len(hash_["content"]) == 64 for part in made["components"] for hash_ in part["hashes"])
    assert all(part["hashes"] for part in made["components"])
    references = [part["bom-ref"] for part in made["components"]]
    assert len(references) == len(set(references))


def test_bill_of_a_lock_with_markers_and_extras() -> None:
    spec = importlib.util.spec_from_file_location("sbom", ROOT / "scripts/sbom.py")
    assert spec is not None and spec.loader is not None
    sbom = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sbom)
    sums = [f"    --hash=sha256:{digit * 64}" for digit in "012"]
    lock = f"a-b==1.2 ; python_version < '4' \\\n{sums[0]} \\\n{sums[1]}\nc[x]==3 \\\n{sums[2]}\n"
    found = sbom.packages(lock)
    assert [(part["name"], part["version"], len(part["hashes"])) for part in found] == [
        ("a-b", "1.2", 2),
        ("c", "3", 1),
    ]
