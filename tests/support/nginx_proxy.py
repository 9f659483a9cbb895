"""A real nginx for tests: a configuration as it is printed, on free loopback ports, gone afterwards."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from postgres_server import free_port
from served import Answer

NGINX = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
HOW_TO_INSTALL = "nginx is not installed: make test-slow installs it (apt-get install nginx-light)"
# What surrounds a site on Debian, where pages are compressed unless the site says otherwise.
AROUND = """
daemon off; master_process on; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log warn;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log; gzip on; ssl_protocols TLSv1 TLSv1.1 TLSv1.2 TLSv1.3;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  include {folder}/site.conf;
}}
"""


@dataclass(frozen=True)
class Proxy:
    """A running nginx, and how somebody at ``source`` asks it for the pages of ``name``."""

    folder: Path
    tls: int
    plain: int
    name: str
    certificate: Path

    def ask(
        self,
        path: str,
        method: str = "GET",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        source: str = "127.0.0.1",
    ) -> Answer:
        """Ask by https, with the certificate checked, from an address of this machine."""
        raw = socket.create_connection(("127.0.0.1", self.tls), timeout=60, source_address=(source, 0))
        connection = http.client.HTTPConnection(self.name, timeout=60)
        connection.sock = self.context().wrap_socket(raw, server_hostname=self.name)
        return _answer(connection, path, method, body, headers)

    def ask_plainly(self, port: int, path: str = "/") -> Answer:
        """Ask by http."""
        return _answer(
            http.client.HTTPConnection("127.0.0.1", port, timeout=60), path, "GET", None, {"Host": self.name}
        )

    def context(self) -> ssl.SSLContext:
        """Return a client's side of TLS that believes this proxy's certificate alone."""
        return ssl.create_default_context(cafile=str(self.certificate))

    def log(self, name: str, *, until: str = "") -> str:
        """Return what nginx wrote to ``access.log`` or ``error.log``; it answers first, so wait for a word."""
        file, last = self.folder / name, time.monotonic() + 10
        while True:
            text = file.read_text(encoding="utf-8") if file.exists() else ""
            if until in text or time.monotonic() > last:
                return text
            time.sleep(0.02)


def _answer(
    connection: http.client.HTTPConnection,
    path: str,
    method: str,
    body: bytes | None,
    headers: Mapping[str, str] | None,
) -> Answer:
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        return Answer(answer.status, answer.getheaders(), answer.read())
    finally:
        connection.close()


def self_signed(folder: Path, name: str) -> tuple[Path, Path]:
    """Write a certificate for a name, and its key."""
    import datetime as dt

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, called = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]),
    )
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder(called, called, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1))
        .not_valid_after(now + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return paths


@contextmanager
def proxying(site: str, folder: Path, *, name: str, platform: int) -> Iterator[Proxy]:
    """Run nginx with a site's configuration; only addresses, ports and the certificate's place are put in.

    Args:
        site: The configuration as it is printed.
        folder: An empty folder.
        name: The name of the certificate.
        platform: The port of the platform on loopback.
    """
    certificate, key = self_signed(folder, name)
    tls, plain = free_port(), free_port()
    for pattern, put in (
        (r"listen \d+ ssl", f"listen 127.0.0.1:{tls} ssl"),
        (r"listen \d+;", f"listen 127.0.0.1:{plain};"),
        (r"ssl_certificate +\S+;", f"ssl_certificate {certificate};"),
        (r"ssl_certificate_key +\S+;", f"ssl_certificate_key {key};"),
        (r"proxy_pass http://\S+;", f"proxy_pass http://127.0.0.1:{platform};"),
    ):
        site, count = re.subn(pattern, put, site)
        assert count, pattern
    (folder / "site.conf").write_text(site)
    user = "user root;\n" if os.geteuid() == 0 else ""  # the folder of a test is its user's alone
    (folder / "nginx.conf").write_text(user + AROUND.format(folder=folder))
    assert NGINX is not None
    words = [NGINX, "-p", str(folder), "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")]
    tried = subprocess.run([*words, "-t"], capture_output=True, text=True, timeout=60)
    # Newer versions would rather have "http2 on;", which Debian 12's does not know yet.
    warned = [line for line in tried.stderr.splitlines() if "[warn]" in line and "http2" not in line]
    assert tried.returncode == 0 and not warned, tried.stderr
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        _wait(process, tls)
        yield Proxy(folder, tls, plain, name, certificate)
    finally:
        process.terminate()
        process.wait(timeout=20)


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    for _ in range(200):
        assert process.poll() is None, "nginx ended by itself"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("nginx does not listen")
