"""The container file and the compose file: linted, and held against what the product and its settings really are."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
CONTAINER = (DEPLOY / "Containerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
PINS = {"PYTHON_IMAGE": "python", "POSTGRES_IMAGE": "postgres", "NGINX_IMAGE": "nginx-unprivileged"}
"""Variable of the environment -> the image that an operator pins with it."""


def image_of(text: str) -> str:
    """Return an image's name with its tag: what stands there, or stands in for an unset variable."""
    variable = re.fullmatch(r"\$\{([A-Z_]+):-(\S+)\}", text)
    if variable is None:
        return text
    assert PINS[variable[1]] in variable[2]
    return variable[2]


def instructions(text: str) -> list[tuple[str, str]]:
    """Return the instructions of a container file, continued lines joined."""
    lines = [line for line in text.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    whole = re.sub(r"\\\n\s*", " ", "\n".join(lines))
    return [(word.upper(), rest.strip()) for word, _, rest in (line.partition(" ") for line in whole.splitlines())]


STEPS = instructions(CONTAINER)


def faults(steps: list[tuple[str, str]]) -> list[str]:
    """Return what is wrong with a container file, as its last stage will run."""
    found = []
    last = max(number for number, (word, _) in enumerate(steps) if word == "FROM")
    given = dict(rest.split("=", 1) for word, rest in steps if word == "ARG")
    for word, rest in steps:
        image = re.sub(r"^\$\{(\w+)\}$", lambda name: given.get(name[1], "unset"), rest.split()[0])
        if word == "FROM" and (":" not in image.rsplit("/", 1)[-1] or image.endswith(":latest")):
            found.append(f"no fixed version: {image}")
        if word == "ADD" or re.search(r"curl[^|]*\|\s*(ba)?sh", rest):
            found.append(f"fetched and unchecked: {rest}")
        if re.search(r"(?i)(password|secret|token|key)\w*=\S", rest):
            found.append(f"a secret: {rest}")
    users = [rest for word, rest in steps[last:] if word == "USER"]
    if not users or users[-1].split(":")[0] in ("root", "0"):
        found.append("runs as root")
    if not any(word == "HEALTHCHECK" for word, _ in steps[last:]):
        found.append("no health check")
    return found


def test_container_file_has_no_fault() -> None:
    assert faults(STEPS) == []


@pytest.mark.parametrize(
    ("spoil", "fault"),
    [
        (("python:3.13-slim-bookworm", "python:latest"), "no fixed version"),
        (("python:3.13-slim-bookworm", "python"), "no fixed version"),
        (("FROM ${PYTHON_IMAGE} AS run", "FROM ${OTHER_IMAGE} AS run"), "no fixed version"),
        (("USER 10001:10001", "USER root"), "runs as root"),
        (("HEALTHCHECK", "LABEL"), "no health check"),
        (("PYDPLIB_HOME=/data", "PYDPLIB_HOME=/data DATABASE_PASSWORD=hunter2"), "a secret"),
    ],
)
def test_container_file_with_a_planted_fault_is_found(spoil, fault) -> None:
    spoilt = CONTAINER.replace(*spoil)
    assert spoilt != CONTAINER
    assert any(fault in one for one in faults(instructions(spoilt)))


def test_container_file_passes_the_linter() -> None:
    beside = Path(sys.executable).with_name("hadolint")
    linter = str(beside) if beside.exists() else shutil.which("hadolint")
    if linter is None:
        pytest.skip("hadolint is not installed: make test installs it")
    done = subprocess.run([linter, str(DEPLOY / "Containerfile")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_container_file_copies_what_exists_and_what_the_context_lets_in() -> None:
    allowed = {
        line[1:] for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines() if line.startswith("!")
    }
    copied = [rest.split()[:-1] for word, rest in STEPS if word == "COPY" and "--from" not in rest]
    assert copied
    for source in (name for names in copied for name in names):
        assert (ROOT / source).exists(), source
        assert source in allowed, f".dockerignore keeps {source} out"


def test_container_runs_a_command_that_exists_with_options_that_exist() -> None:
    from click import Context

    from pydplib.cli import cli

    serve = cli.get_command(Context(cli), "serve")
    known = {option for parameter in serve.params for option in (*parameter.opts, *parameter.secondary_opts)}
    (entry,) = (yaml.safe_load(rest) for word, rest in STEPS if word == "ENTRYPOINT")
    (default,) = (yaml.safe_load(rest) for word, rest in STEPS if word == "CMD")
    assert entry == ["pydplib"]
    for words in (default, SERVICES["platform"]["command"]):
        assert words[0] == "serve" and {word for word in words if word.startswith("--")} <= known
        assert "--behind-tls" in words  # a server beyond its own machine refuses to start without


def test_image_is_tagged_with_the_version() -> None:
    from pydplib import __version__

    assert SERVICES["platform"]["image"] == f"pydplib:{__version__}" and f"pydplib:{__version__} " in CONTAINER


def test_container_has_the_database_client_of_the_database() -> None:
    # Debian bookworm's client is PostgreSQL 15; pg_dump refuses a newer server.
    assert any("postgresql-client" in rest for word, rest in STEPS if word == "RUN")
    (base,) = (rest.split("=", 1)[1] for word, rest in STEPS if word == "ARG")
    assert "bookworm" in base and all(rest.startswith("${PYTHON_IMAGE} ") for word, rest in STEPS if word == "FROM")
    assert image_of(SERVICES["database"]["image"]).split("/")[-1].startswith("postgres:15-")


def test_images_from_elsewhere_can_be_pinned_and_the_page_says_how() -> None:
    args = SERVICES["platform"]["build"]["args"]
    (base,) = (rest for word, rest in STEPS if word == "ARG")
    assert base == f"PYTHON_IMAGE={image_of(args['PYTHON_IMAGE'])}", "the same with compose and without"
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    page = (ROOT / "docs" / "how-to" / "deploy-behind-tls.md").read_text(encoding="utf-8")
    images = [args["PYTHON_IMAGE"], *(SERVICES[name]["image"] for name in ("database", "proxy"))]
    for variable, image in zip(PINS, images, strict=True):
        assert image.startswith(f"${{{variable}:-") and image_of(image) in page
        assert f"{variable}=" in page and text.count(f"${{{variable}:-") == 1


def test_user_of_the_image_is_the_one_that_owns_its_folder() -> None:
    user = re.findall(r"--uid (\d+) --gid (\d+)", CONTAINER)
    assert user == [("10001", "10001")] and "groupadd --gid 10001 pydplib" in CONTAINER
    assert [rest for word, rest in STEPS if word == "USER"] == ["10001:10001"] == [SERVICES["platform"]["user"]]
    assert "install -d -m 700 -o pydplib -g pydplib /data" in CONTAINER


@pytest.mark.parametrize("name", SERVICES)
def test_service_is_healthy_restarted_and_held_tight(name) -> None:
    service = SERVICES[name]
    assert service["healthcheck"]["test"] and service["restart"] == "unless-stopped"
    assert service["read_only"] is True and service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"] and not service.get("privileged")
    image = image_of(service["image"]).rsplit("/", 1)[-1]
    assert ":" in image and not image.endswith(":latest")


def test_only_the_proxy_is_reached_from_outside_and_only_by_tls() -> None:
    assert {name: service["ports"] for name, service in SERVICES.items() if "ports" in service} == {
        "proxy": ["443:8443", "80:8080"]
    }
    assert SERVICES["database"]["networks"] == ["inside"] and COMPOSE["networks"]["inside"]["internal"] is True
    conf = (DEPLOY / "proxy.conf").read_text(encoding="utf-8")
    # As a volume: podman-compose passes over "configs" without a word, and nginx would then serve nothing.
    assert SERVICES["proxy"]["volumes"] == ["./proxy.conf:/etc/nginx/conf.d/default.conf:ro,z"]
    plain, secure = re.findall(r"^server \{.*?^\}", conf, re.S | re.M)
    assert "listen 8443 ssl http2;" in secure and not re.search(r"listen \d+;", secure)
    assert "listen 8080;" in plain and "return 308 https://" in plain and "proxy_pass" not in plain
    # Set once for every location: nginx would drop all of them where a location sets one of its own.
    assert secure.count("proxy_set_header") == 3 and "proxy_set_header" not in "".join(
        re.findall(r"location[^{]*\{(.*?)\}", secure, re.S)
    )
    assert "proxy_set_header X-Forwarded-Proto https;" in secure
    assert "proxy_set_header X-Forwarded-For $remote_addr;" in secure  # set here: what a visitor claims is dropped


def test_proxy_is_the_one_that_the_platform_believes() -> None:
    command = SERVICES["platform"]["command"]
    address = SERVICES["proxy"]["networks"]["edge"]["ipv4_address"]
    assert command[command.index("--proxy") + 1] == address
    (subnet,) = COMPOSE["networks"]["edge"]["ipam"]["config"]
    from ipaddress import ip_address, ip_network

    platform = SERVICES["platform"]["networks"]["edge"]["ipv4_address"]
    assert len({address, platform}) == 2
    assert all(ip_address(one) in ip_network(subnet["subnet"]) for one in (address, platform))


def test_secrets_come_from_files_that_are_not_in_the_repository() -> None:
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert not re.search(r"(?i)password: *\S", text) and not re.search(r"://\w+:[^@\s]+@", text)
    listed = subprocess.run(["git", "ls-files", "deploy"], cwd=ROOT, capture_output=True, text=True).stdout
    for secret in COMPOSE["secrets"].values():
        assert secret["file"].startswith("secrets/") and f"deploy/{secret['file']}" not in listed
    page = (ROOT / "docs" / "how-to" / "deploy-behind-tls.md").read_text(encoding="utf-8")
    assert "chown 10001 secrets/database_password" in page and "chmod 400 secrets/*" in page
    ignored = subprocess.run(["git", "check-ignore", "-q", "deploy/secrets/tls_key.pem"], cwd=ROOT)
    assert ignored.returncode in (0, 128)
    for service in SERVICES.values():
        assert set(service.get("secrets", [])) <= set(COMPOSE["secrets"])


def test_what_must_outlive_a_container_is_on_volumes_apart_from_each_other() -> None:
    (home,), (database,) = SERVICES["platform"]["volumes"], SERVICES["database"]["volumes"]
    (place,) = re.findall(r"PYDPLIB_HOME=(\S+)", CONTAINER)
    assert home == f"home:{place}" and database.startswith("database:")
    assert set(COMPOSE["volumes"]) == {"home", "database"}


def test_settings_of_the_compose_file_are_settings_of_the_platform(tmp_path) -> None:
    from pydplib.web.configuration import Configuration

    (password := tmp_path / "password").write_text("p@ss/word\n")
    given = dict(SERVICES["platform"]["environment"])
    assert given["DATABASE_PASSWORD_FILE"] == "/run/secrets/database_password"
    given |= {"DATABASE_PASSWORD_FILE": str(password), "PYDPLIB_HOSTS": "edc.example", "PYDPLIB_HOME": str(tmp_path)}
    made = Configuration.from_environment(given)
    assert made.hosts == ("edc.example",) and made.behind_tls
    assert (made.database["HOST"], made.database["NAME"], made.database["USER"]) == ("database", "pydplib", "pydplib")
    assert made.database["PASSWORD"] == "p@ss/word" and "word" not in repr(made)
    assert SERVICES["database"]["environment"]["POSTGRES_USER"] == made.database["USER"]
    assert SERVICES["database"]["environment"]["POSTGRES_DB"] == made.database["NAME"]


@pytest.mark.parametrize(
    ("url", "file", "words"),
    [
        ("postgresql://edc:hunter2@db/x", "there", "names a user and no password"),
        ("postgresql://edc@db/x", "absent", "cannot be read"),
    ],
)
def test_password_file_that_does_not_fit_is_refused_without_a_secret(tmp_path, url, file, words) -> None:
    from pydplib.errors import ParameterError
    from pydplib.web.configuration import database_url

    (tmp_path / "there").write_text("swordfish")
    with pytest.raises(ParameterError, match=words) as refused:
        database_url({"DATABASE_URL": url, "DATABASE_PASSWORD_FILE": str(tmp_path / file)})
    assert "hunter2" not in str(refused.value) and "swordfish" not in str(refused.value)
