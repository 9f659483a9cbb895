"""The demonstration: two organisations, people of every role, synthetic reports; made from scratch at every start."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass

from pydplib import datasets
from pydplib.policy import ROLES
from pydplib.schema import Schema
from pydplib.web.analyses.payments.sizes import buy_sizes
from pydplib.web.auditlog.log import recorded
from pydplib.web.dashboards.example import publish_examples
from pydplib.web.demo_examples import COMPUTED, DEPARTMENT, REPORTS, TEXTS
from pydplib.web.intake.further_tables.rows import write_rows
from pydplib.web.intake.imports.records import accept_rows
from pydplib.web.intake.snapshots import make_snapshot, publish, said_before
from pydplib.web.people import links
from pydplib.web.people.models import Hospital, User
from pydplib.web.projects.models import Member, Project
from pydplib.web.projects.setup import create_project
from pydplib.web.reporting.labels.free_texts import NewText
from pydplib.web.reporting.labels.queue import add_texts
from pydplib.web.tables.declared import ComputedColumn, PersonJoin, declare
from pydplib.web.tables.models import PersonTable


@dataclass(frozen=True, slots=True)
class DemoPerson:
    """Somebody of the demonstration."""

    username: str
    full_name: str
    role: str
    _: KW_ONLY
    partner: bool = False
    department: str = ""
    manages: bool = False


PEOPLE = (
    DemoPerson("olivia", "Olivia Owner", "owner", manages=True),
    DemoPerson("otto", "Otto Owner", "owner", manages=True),
    DemoPerson("rosa", "Rosa Radiologist", "radiologist", department="SYN-RAD"),
    DemoPerson("carl", "Carl Collaborator", "collaborator"),
    DemoPerson("tara", "Tara Third-Party", "third_party", partner=True, manages=True),
    DemoPerson("dana", "Dana Data-Protection", "data_protection_officer"),
)

DATA_SET_BUDGET = 12.0
"""Above the default of 8: dashboards are paid before anybody asks, and both partners can still spend all of theirs."""


@dataclass(frozen=True, slots=True)
class Entrance:
    """A link by which one of the people signs in."""

    person: DemoPerson
    path: str


def seed(step: Callable[[str], None] = lambda _: None) -> list[Entrance]:
    """Make organisations, people, projects and reports; return the people's sign-in links.

    Args:
        step: Called with what is done next.
    """
    step("Inviting synthetic people")
    users = _make_people()
    study = _make_project(
        users,
        "Prostate MRI 2017-18",
        "Research on prostate MRI: which scores go with which age and history.",
        template="pirads-paper",
    )
    step("Writing synthetic reports")
    accept_rows(
        study,
        study.templates.get(number=1),
        synthetic_rows(),
        actor=users["olivia"],
        department_field="department_code",
    )
    step("Adding a table of visits")
    add_follow_up(study, users["olivia"])
    step("Publishing a snapshot")
    # The noisy numbers are bought for everybody who may ask, as on the page of publishing: prices show their accuracy.
    said, snapshot = said_before(study), make_snapshot(study, actor=users["olivia"])
    publish(snapshot, actor=users["olivia"], **said)
    buy_sizes(study, snapshot, actor=users["olivia"])
    publish_examples(users["olivia"], study, step=lambda audience: step(f"Publishing a dashboard: {audience}"))
    step("Filling the reporting desk")
    desk = _make_project(
        users,
        "Prostate MRI reporting",
        "Structured reports of prostate MRI, written here with PI-RADS 2.1.",
        template="pirads-2.1",
    )
    accept_rows(desk, desk.templates.get(number=1), REPORTS, actor=users["rosa"], department=DEPARTMENT)
    texts = [NewText(patient, text, DEPARTMENT) for patient, text in TEXTS]
    add_texts(desk, texts, readers=1, actor=users["olivia"])
    tokens = [links.make_link(links.Purpose.DEMO, user=users[person.username]) for person in PEOPLE]
    return [Entrance(person, links.link_path(token)) for person, token in zip(PEOPLE, tokens, strict=True)]


def _make_people() -> dict[str, User]:
    users = {}
    with recorded("system") as log:
        hospital = Hospital.objects.create(name="St. Synthia Hospital (synthetic)")
        partner = Hospital.objects.create(name="Acme Diagnostics (synthetic)")
        for person in PEOPLE:
            where = partner if person.partner else hospital
            users[person.username] = User.objects.create_user(
                person.username, hospital=where, full_name=person.full_name, is_hospital_owner=person.manages
            )
            log.hospital = where.key
            log.add("user.invite", person.username, synthetic=True)
    return users


def _make_project(users: dict[str, User], name: str, purpose: str, *, template: str) -> Project:
    owner = users[PEOPLE[0].username]
    made = create_project(
        owner,
        name=name,
        purpose=purpose,
        legal_basis="None needed: the data are synthetic, and nobody in them exists.",
        retention_until=dt.date.today() + dt.timedelta(days=3652),
        template=template,
    )
    with recorded("system", project=made) as log:  # the operator's word: both owners count at once
        made.is_synthetic = True
        made.data_set_budget = DATA_SET_BUDGET
        made.save(update_fields=["is_synthetic", "data_set_budget"])
        for person in PEOPLE[1:]:
            Member.objects.create(
                project=made, user=users[person.username], role=person.role, department=person.department
            )
            log.add("member.add", person.username, role=person.role)
    return made


def synthetic_rows() -> Iterator[dict[str, object]]:
    """Yield the synthetic cohort as answers to ``pirads-paper``."""
    columns = datasets.pirads(backend="numpy")
    names = [name for name in columns if name != "report_id"]
    for cells in zip(*(columns[name].tolist() for name in names), strict=True):
        row = {name: cell for name, cell in zip(names, cells, strict=True) if cell is not None and cell == cell}
        row["patient_id"] = f"SYN-{row['patient_id']:05d}"
        for name in ("pirads", "gleason"):  # whole numbers that came as floats, for the missing ones among them
            if name in row:
                row[name] = int(row[name])
        yield row


def add_follow_up(study: Project, owner: User) -> None:
    """Add the visits of the same patients, and declare what partners ask of them."""
    declared = datasets.follow_up_schema()
    names = [name for name in declared.columns if name != declared.person]
    schema = Schema(
        {name: declared.columns[name] for name in names},
        person=declared.person,
        max_rows_per_person=declared.max_rows_per_person,
        name="follow_up",
    )
    table = PersonTable(project=study, name="follow_up", title="Follow-up visits", declared=schema.to_json(), by=owner)
    columns = datasets.follow_up(backend="numpy")
    cells = zip(*(columns[name].tolist() for name in ("patient_id", *names)), strict=True)
    rows = (
        (
            number,
            f"SYN-{who:05d}",
            {n: "" if v is None or v != v else str(v) for n, v in zip(names, found, strict=True)},
        )
        for number, (who, *found) in enumerate(cells, start=2)
    )
    write_rows(table, rows, actor=owner)
    made = [ComputedColumn.from_dict(entry) for entry in COMPUTED]
    declare(study, columns=made, joins=[PersonJoin(table="follow_up")], actor=owner, by=owner.username)


def invitation(entrances: list[Entrance], base: str) -> str:
    """Return the lines that a starting demonstration prints."""
    lines = ["Sign in by one of these links; each works once (inside, Account lets you go on as somebody else):"]
    for entrance in entrances:
        person = entrance.person
        who = f"{ROLES[person.role].title} ({person.full_name.split()[0]})"
        lines.append(f"  {who:<30} {base}{entrance.path}")
    lines += [
        "Begin with Olivia. Otto is the second owner: a larger budget takes four eyes, one proposes and one agrees.",
        "Synthetic data, made from scratch at every start. No passwords, and no second factor in these sessions.",
    ]
    return "\n".join(lines)
