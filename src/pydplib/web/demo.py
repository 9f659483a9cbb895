"""The demonstration: two organisations, people of every role, synthetic reports; made anew at every start."""

from __future__ import annotations

import datetime as dt
import shutil
from dataclasses import dataclass
from pathlib import Path

from pydplib.errors import PolicyError

MARK = "this-is-a-pydplib-demonstration.txt"


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody of the demonstration."""

    username: str
    full_name: str
    role: str
    partner: bool = False
    department: str = ""
    manages: bool = False


PEOPLE = (
    Person("olivia", "Olivia Owner", "owner", manages=True),
    Person("otto", "Otto Owner", "owner", manages=True),
    Person("rosa", "Rosa Radiologist", "radiologist", department="SYN-RAD"),
    Person("carl", "Carl Collaborator", "collaborator"),
    Person("tara", "Tara Third-Party", "third_party", partner=True, manages=True),
    Person("dana", "Dana Data-Protection", "data_protection_officer"),
)


@dataclass(frozen=True, slots=True)
class Entrance:
    """A link by which one of the people signs in."""

    person: Person
    path: str


def clear(home: Path) -> None:
    """Empty the folder of an earlier demonstration; anything else is left alone."""
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    found = [item for item in home.iterdir() if item.name != "serve.lock"]
    if found and not (home / MARK).exists():
        raise PolicyError(
            f"'{home}' holds something that no demonstration made, and a demonstration begins by emptying its folder. "
            "Choose another --home."
        )
    for item in found:
        shutil.rmtree(item) if item.is_dir() and not item.is_symlink() else item.unlink()
    (home / MARK).write_text("Synthetic data of `pydplib serve --demo`. Deleted at its next start.\n")


def seed() -> list[Entrance]:
    """Make organisations, people, projects and reports; return the people's sign-in links."""
    from pydplib.policy import DEFAULT_RULES
    from pydplib.web.auditlog.writing import recorded
    from pydplib.web.people import links
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member, Project, Rule, project_key

    entrances = []
    with recorded("system") as log:
        hospital = Hospital.objects.create(name="St. Synthia Hospital (synthetic)")
        partner = Hospital.objects.create(name="Acme Diagnostics (synthetic)")
        log.hospital = hospital.key
        users = {
            person.username: User.objects.create_user(
                person.username,
                hospital=partner if person.partner else hospital,
                full_name=person.full_name,
                is_hospital_owner=person.manages,
            )
            for person in PEOPLE
        }
        for name, purpose in (
            ("Prostate MRI 2017-18", "Research on prostate MRI: which scores go with which age and history."),
            ("Prostate MRI reporting", "Structured reports of prostate MRI with PI-RADS 2.1."),
        ):
            project = Project.objects.create(
                key=project_key(name),
                hospital=hospital,
                name=name,
                purpose=purpose,
                legal_basis="None needed: the data are synthetic.",
                retention_until=dt.date(2035, 12, 31),
                is_synthetic=True,
            )
            Rule.objects.bulk_create([Rule.from_rule(project, rule) for rule in DEFAULT_RULES])
            Member.objects.bulk_create(
                Member(project=project, user=users[person.username], role=person.role, department=person.department)
                for person in PEOPLE
            )
            log.add("project.make", project.key, project=project.key, synthetic=True)
        for person in PEOPLE:
            token = links.make_link(links.Purpose.DEMO, user=users[person.username])
            entrances.append(Entrance(person, links.link_path(token)))
    return entrances


def invitation(entrances: list[Entrance], base: str) -> str:
    """Return the lines that a starting demonstration prints."""
    from pydplib.policy import ROLES

    lines = ["Sign in by one of these links; each works once (inside, Account lets you go on as somebody else):"]
    for entrance in entrances:
        role = ROLES[entrance.person.role].title
        lines.append(f"  {role:<24} {base}{entrance.path}")
    lines.append("Synthetic data; made anew at every start. No passwords, and no second factor in these sessions.")
    return "\n".join(lines)
