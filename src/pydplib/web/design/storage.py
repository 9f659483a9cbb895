"""Static files: under a name with a hash of their content, compressed once, kept by browsers for a year.

``pydplib serve`` collects them into the server's home before the first request. Where nobody has (tests, another WSGI
server), WhiteNoise serves them from the package under their plain names, and browsers ask again after a minute.

Only static files are compressed. Pages are not: the length of a compressed page tells what is in it.
"""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path
from typing import cast

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import ManifestStaticFilesStorage, staticfiles_storage
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage

STAMP = "collected"
"""The file in the folder that says which content was collected into it; written last."""


class CollectedFiles(CompressedManifestStaticFilesStorage):
    """Names of collected files; the plain name of a file that was not collected."""

    keep_only_hashed_files = True

    def stored_name(self, name: str) -> str:
        """Return the name under which a file is served."""
        plain, mark, fragment = name.partition("#")
        cleaned = self.clean_name(plain)
        return f"{self.hashed_files.get(self.hash_key(cleaned), plain)}{mark}{fragment}"


def content_hash() -> str:
    """Return a hash of every static file of the package, with its name."""
    found = hashlib.sha256()
    for finder in get_finders():
        for name, storage in sorted(finder.list([]), key=lambda entry: entry[0]):
            with storage.open(name) as file:
                found.update(f"{name}\0{hashlib.sha256(file.read()).hexdigest()}\n".encode())
    return found.hexdigest()


def collect() -> bool:
    """Collect, hash and compress the static files, unless this very content was collected before.

    A folder that a kill left half-written has no stamp, and is made again.

    Returns:
        Whether anything had to be done.
    """
    folder, wanted = Path(settings.STATIC_ROOT), content_hash()
    stamp = folder / STAMP
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, mode=0o700)
    call_command("collectstatic", verbosity=0, interactive=False)
    stamp.write_text(wanted, encoding="utf-8")
    storage = cast("ManifestStaticFilesStorage", staticfiles_storage)
    storage.hashed_files, storage.manifest_hash = storage.load_manifest()  # type: ignore[assignment]
    return True
