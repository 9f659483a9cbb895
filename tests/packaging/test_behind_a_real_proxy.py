"""The platform behind a real nginx, with the configurations that the page and ``deploy/`` print."""

from __future__ import annotations

import re
import shlex
import socket
import sqlite3
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from chromium import needs_chromium
from nginx_proxy import HOW_TO_INSTALL, NGINX, Proxy, proxying
from served import Answer, Served, clean_environment, serving

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "deploy-behind-tls.md").read_text(encoding="utf-8")
NAME = "edc.example"
FORGED = "203.0.113.9"
VISITOR = "127.0.0.2"  # an address of this machine that is not the proxy's own

needs_nginx = pytest.mark.skipif(NGINX is None, reason=HOW_TO_INSTALL)


def block(language: str) -> str:
    """Return the page's one block of code in a language."""
    (found,) = re.findall(rf"```{language}\n(.*?)```", PAGE, re.S)
    return str(found)


def from_page() -> tuple[str, list[str], dict[str, str]]:
    """Return the page's site for nginx, its service's words and its service's settings."""
    unit = block("ini")
    settings = dict(
        word.split("=", 1) for line in re.findall(r"^Environment=(.*)$", unit, re.M) for word in line.split()
    )
    (command,) = re.findall(r"^ExecStart=\S+/pydplib serve (.*) --port 8000$", unit, re.M)
    assert settings.pop("PYDPLIB_HOME") == "/srv/pydplib"
    return block("nginx"), shlex.split(command), settings


def from_deploy() -> tuple[str, list[str], dict[str, str]]:
    """Return the same of the containers, their addresses put on loopback and their database left out."""
    service = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))["services"]["platform"]
    words = ["127.0.0.1" if re.fullmatch(r"[\d.]+", word) else word for word in service["command"][1:]]
    behind = {"PYDPLIB_BEHIND_TLS": service["environment"]["PYDPLIB_BEHIND_TLS"], "PYDPLIB_HOSTS": NAME}
    return (ROOT / "deploy" / "proxy.conf").read_text(encoding="utf-8"), words, behind


def directives(site: str) -> list[str]:
    """Return what a site says, without comments, addresses, ports, names and the places of certificates."""
    plain = re.sub(r"#.*", "", site)
    places = (r"(?<=listen )\d+", r"(?<=server_name )\S+(?=;)", r"(?<=http://)[\w.:]+", r"(?<=certificate) +/\S+;")
    for pattern in (*places, r"(?<=certificate_key) +/\S+;"):
        plain = re.sub(pattern, "HERE", plain)
    return [" ".join(line.split()) for line in plain.splitlines() if line.strip()]


def test_page_and_containers_print_the_same_proxy() -> None:
    page, deploy = from_page()[0], from_deploy()[0]
    assert directives(page) == directives(deploy)
    assert directives(page) != directives(deploy.replace("gzip off;", "gzip on;"))
    assert "ssl_protocols TLSv1.2 TLSv1.3;" in directives(page)


def test_limits_of_the_proxy_are_those_of_the_platform() -> None:
    """Equal ones: what is too large is refused by the proxy, from its announced length, and never half sent on."""
    from pydplib.web.server import LARGE_BODY, SMALL_BODY, UPLOADS

    site = from_deploy()[0]
    assert [int(size) for size in re.findall(r"client_max_body_size (\d+);", site)] == [SMALL_BODY, LARGE_BODY]
    (pattern,) = re.findall(r"location ~ (\S+) \{", site)
    assert all(re.search(pattern, path) for path in UPLOADS)
    assert not re.search(pattern, "/import/key") and not re.search(pattern, "/login")
    assert len(re.findall(r"\w+", pattern)) == len({word for path in UPLOADS for word in re.findall(r"\w+", path)})


@pytest.mark.slow
def test_service_unit_of_the_page_is_understood_by_systemd(tmp_path: Path) -> None:
    import shutil

    if shutil.which("systemd-analyze") is None:
        pytest.skip("systemd is not installed")

    def complaints(unit: str) -> str:
        (tmp_path / "pydplib.service").write_text(unit.replace("/opt/pydplib/bin/pydplib", sys.executable))
        words = ["systemd-analyze", "verify", "--man=no", str(tmp_path / "pydplib.service")]
        done = subprocess.run(words, capture_output=True, text=True, timeout=60)
        return "\n".join(line for line in done.stderr.splitlines() if "pydplib.service" in line)

    unit = block("ini")
    assert complaints(unit) == ""
    assert "perhaps" in complaints(unit.replace("ProtectHome=yes", "ProtectHome=perhaps"))


@dataclass(frozen=True)
class Behind:
    """A platform, and the proxy through which it is reached."""

    served: Served
    proxy: Proxy
    site: str

    def addresses(self) -> set[str]:
        """The addresses from which sign-ins failed, as the platform counted them."""
        with closing(sqlite3.connect(self.served.home / "pydplib.sqlite3")) as database:
            return {row[0] for row in database.execute("SELECT DISTINCT ip_address FROM axes_accessattempt")}


@pytest.fixture(scope="module", params=[from_page, from_deploy], ids=["page", "deploy"])
def behind(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    site, words, settings = request.param()
    folder = tmp_path_factory.mktemp("behind")
    (folder / "nginx").mkdir()
    words[words.index("--host") + 1] = "127.0.0.1"
    with ExitStack() as stack:
        served = stack.enter_context(serving(folder / "home", *words, **settings))
        proxy = stack.enter_context(proxying(site, folder / "nginx", name=NAME, platform=served.port))
        yield Behind(served, proxy, site)


def guess(proxy: Proxy, name: str, **headers: str) -> Answer:
    """Try to sign in from the visitor's address, as a browser would."""
    page = proxy.ask("/login", source=VISITOR)
    (token,) = re.findall(rb'name="csrfmiddlewaretoken" value="(\w+)"', page.body)[:1]
    cookies = "; ".join(f"{key}={value}" for key, value in page.cookies.items())
    sent = {"Cookie": cookies, "Origin": f"https://{NAME}", "Content-Type": "application/x-www-form-urlencoded"}
    body = b"csrfmiddlewaretoken=" + token + f"&username={name}&password=guessed+and+wrong".encode()
    return proxy.ask("/login", "POST", body, sent | headers, source=VISITOR)


@pytest.mark.slow
@needs_nginx
class TestBehindNginx:
    def test_health_check_answers(self, behind: Behind) -> None:
        answer = behind.proxy.ask("/healthz")
        assert (answer.status, answer.body) == (200, b'{"status": "ok"}')

    def test_pages_have_the_headers_and_nothing_that_names_the_software(self, behind: Behind) -> None:
        answer = behind.proxy.ask("/login", headers={"Accept-Encoding": "gzip"})
        assert answer.status == 200
        assert answer.header("Strict-Transport-Security") == "max-age=31536000; includeSubDomains; preload"
        assert "default-src 'none'" in (answer.header("Content-Security-Policy") or "")
        assert answer.header("X-Frame-Options") == "DENY" and answer.header("Content-Encoding") is None
        assert answer.header("Server") == "nginx", "no version"
        assert len(answer.headers) == len({name.lower() for name, _ in answer.headers}), "nothing twice"

    def test_cookies_are_for_https_and_this_host_alone(self, behind: Behind) -> None:
        cookies = [value for key, value in behind.proxy.ask("/login").headers if key.lower() == "set-cookie"]
        assert cookies
        for cookie in cookies:
            assert cookie.startswith("__Host-") and {"Secure", "HttpOnly", "SameSite=Lax"} <= set(cookie.split("; "))

    def test_other_name_is_refused(self, behind: Behind) -> None:
        assert behind.proxy.ask("/", headers={"Host": "other.example"}).status == 400

    def test_plain_http_is_sent_on_or_refused(self, behind: Behind) -> None:
        sent = behind.proxy.ask_plainly(behind.proxy.plain, "/reports?page=2")
        assert (sent.status, sent.header("Location")) == (308, f"https://{NAME}/reports?page=2")
        assert sent.header("Set-Cookie") is None
        assert behind.proxy.ask_plainly(behind.proxy.tls).status == 400

    def test_http_2_is_spoken_and_old_ciphers_are_not(self, behind: Behind) -> None:
        def shake(context: ssl.SSLContext) -> ssl.SSLSocket:
            with socket.create_connection(("127.0.0.1", behind.proxy.tls), timeout=20) as raw:
                return context.wrap_socket(raw, server_hostname=NAME)

        context = behind.proxy.context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        with shake(context) as new:
            assert (new.version(), new.selected_alpn_protocol()) == ("TLSv1.3", "h2")
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        with shake(context) as middle:
            assert middle.version() == "TLSv1.2"
        context.set_ciphers("ECDHE-ECDSA-AES256-SHA384")  # what OpenSSL would take by itself, in a mode that is left
        with pytest.raises(ssl.SSLError):
            shake(context)

    def test_links_are_in_no_log_and_other_addresses_are(self, behind: Behind, tmp_path: Path) -> None:
        proxy = behind.proxy
        assert proxy.ask("/welcome/no-such-link-1").status == 404
        assert proxy.ask("//welcome/no-such-link-2").status == 404
        assert proxy.ask("/no-such-page").status == 404
        assert "GET /no-such-page HTTP" in proxy.log("access.log", until="GET /no-such-page HTTP")
        # A platform that is down makes nginx write the address to its error log, with a link that still works.
        with proxying(behind.site, tmp_path, name=NAME, platform=1) as alone:
            assert alone.ask("/welcome/no-such-link-3").status == 502
            assert alone.ask("/no-such-page").status == 502
            assert "GET /no-such-page HTTP" in alone.log("error.log", until="GET /no-such-page HTTP")
            logs = [one.log(name) for one in (proxy, alone) for name in ("access.log", "error.log")]
        assert not any("no-such-link" in log for log in logs)

    def test_claimed_address_is_not_believed(self, behind: Behind) -> None:
        claims = {"X-Forwarded-For": FORGED, "X-Real-IP": FORGED, "Forwarded": f"for={FORGED}"}
        assert guess(behind.proxy, "nobody", **claims).status == 200
        assert behind.addresses() == {VISITOR}

    def test_proxy_that_hands_claims_on_is_found_out(self, behind: Behind, tmp_path: Path) -> None:
        """The check above can fail: without its line the claim would be believed."""
        spoilt = re.sub(r".*X-Forwarded-For.*\n", "", behind.site)
        with proxying(spoilt, tmp_path, name=NAME, platform=behind.served.port) as weak:
            guess(weak, "nobody-else", **{"X-Forwarded-For": FORGED})
        assert FORGED in behind.addresses()

    def test_large_files_pass_where_they_are_uploaded_and_nowhere_else(self, behind: Behind) -> None:
        from pydplib.web.server import LARGE_BODY

        some = b"x" * 8_000_000
        assert behind.proxy.ask("/import", "POST", some).status == 403, "read, then refused for its missing token"
        assert behind.proxy.ask("/login", "POST", headers={"Content-Length": str(len(some))}).status == 413
        for more in (LARGE_BODY + 1, 300_000_000):
            answer = behind.proxy.ask("/import", "POST", headers={"Content-Length": str(more)})
            assert answer.status == 413, more

    def test_files_on_their_way_in_are_never_on_the_disk_of_the_proxy(self, behind: Behind, tmp_path: Path) -> None:
        some = b"x" * 4_000_000
        behind.proxy.ask("/import", "POST", some)
        assert "temporary file" not in behind.proxy.log("error.log")
        spoilt = behind.site.replace("proxy_request_buffering off;", "")
        with proxying(spoilt, tmp_path, name=NAME, platform=behind.served.port) as weak:
            weak.ask("/import", "POST", some)
            told = "buffered to a temporary file"
            assert told in weak.log("error.log", until=told), "nginx says so where it does"

    @pytest.mark.browser
    @needs_chromium
    def test_first_owner_sets_the_server_up_in_a_browser(self, behind: Behind, tmp_path: Path) -> None:
        sync_api = pytest.importorskip("playwright.sync_api")
        from chromium import CHROMIUM
        from visitors import Visitor

        link = behind.served.setup_link
        assert link.startswith(f"https://{NAME}/welcome/")
        rules = f"--host-resolver-rules=MAP {NAME}:443 127.0.0.1:{behind.proxy.tls}"
        with sync_api.sync_playwright() as playwright:
            words: dict[str, Any] = {"args": ["--no-sandbox", "--ignore-certificate-errors", rules]}
            browser = playwright.chromium.launch(executable_path=CHROMIUM, **words)
            ada = Visitor(browser, f"https://{NAME}", tmp_path, "ada")
            ada.set_up(link, hospital="St. Example", username="ada")
            assert ada.go("/account").url == f"https://{NAME}/account"
            assert ada.page.evaluate("performance.getEntriesByType('navigation')[0].nextHopProtocol") == "h2"
            assert (ada.complaints, ada.faults, ada.hosts) == ([], [], {NAME})
            browser.close()
        log = behind.proxy.log("access.log", until='"GET /setup HTTP/2.0" 200')
        assert link.rsplit("/", 1)[1] not in log and '"GET /setup HTTP/2.0" 200' in log

    def test_doctor_with_the_settings_of_the_service_has_no_complaint(self, behind: Behind) -> None:
        settings = {"PYDPLIB_HOME": str(behind.served.home), "PYDPLIB_HOSTS": NAME, "PYDPLIB_BEHIND_TLS": "1"}
        done = subprocess.run(
            [sys.executable, "-c", "from pydplib.cli import main; main()", "doctor"],
            env=clean_environment(**settings), capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
