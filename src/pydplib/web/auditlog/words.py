"""What each action of the log means, in plain words; a test finds actions without words."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydplib.policy import ROLES
from pydplib.web.design.values import short_id

ACTIONS: Mapping[str, str] = MappingProxyType(
    {
        # Permissions.
        "door.refuse": "Was refused a page",
        "flow.refuse": "Was refused a result by the policy",
        "change.refuse": "Was refused a change",
        # People.
        "hospital.rename": "Renamed the hospital",
        "hospital.second_factor_grace": "Set how long people may go without a second factor",
        "hospital.set_up": "Set up this server",
        "user.change_password": "Changed the password",
        "user.choose_password": "Chose a password by a one-time link",
        "user.code_fail": "Gave a wrong second-factor code",
        "user.confirm": "Gave the password again",
        "user.confirm_fail": "Gave a wrong password when asked again",
        "user.disable": "Disabled a user",
        "user.enable": "Enabled a user",
        "user.end_session": "Ended a session",
        "user.enrol_second_factor": "Set up the second factor",
        "user.invite": "Invited a user",
        "partner.invite": "Invited a partner with an organisation of its own",
        "user.lock_code": "Was locked out after wrong codes",
        "user.lock_session": "Was signed out after wrong passwords",
        "user.make_link": "Made a one-time link",
        "user.make_owner": "Let a user manage the hospital",
        "user.notices": "Changed where notices go",
        "user.new_recovery_codes": "Made new recovery codes",
        "user.remove_second_factor": "Took a second factor away",
        "user.rename": "Renamed a user",
        "user.sign_in": "Signed in",
        "user.sign_in_fail": "Failed to sign in",
        "user.sign_out": "Signed out",
        "user.unmake_owner": "No longer lets a user manage the hospital",
        # Tokens of the API.
        "token.make": "Made an API token",
        "token.refuse": "An API token was refused that works no more",
        "token.revoke": "Revoked an API token",
        # Projects, members, policy, requests.
        "project.create": "Made the project",
        "project.edit": "Edited the project",
        "project.purge": "Deleted records whose time was over",
        "member.add": "Added a member",
        "member.change": "Changed a member's rights",
        "invitation.decline": "Declined an invitation into another organisation's project",
        "invitation.receive": "Invited somebody of this hospital into another organisation's project",
        "member.accept": "Accepted an invitation into the project",
        "member.expire": "Ended a membership on its day",
        "member.invite": "Invited a name of another organisation",
        "member.leave": "Left the project",
        "member.remove": "Removed a member",
        "member.uninvite": "Withdrew an invitation",
        "membership.begin": "Joined a project of another organisation",
        "membership.end": "Is no longer in a project of another organisation",
        "policy.add": "Added a row to the policy",
        "policy.change": "Changed a row of the policy",
        "policy.dashboard_budget": "Lowered the budget of an audience's dashboards",
        "policy.data_set_budget": "Lowered the budget of the data set",
        "policy.open_fields": "Opened fields to an audience",
        "policy.raise_budget": "Raised a budget, two owners agreeing",
        "policy.remove": "Took a row of the policy away",
        "preview.start": "Looked at the project as another role",
        "request.approve": "Agreed to a request",
        "request.make": "Asked for more",
        "request.refuse": "Refused a request",
        "request.withdraw": "Withdrew a request",
        # Templates, reports, labelling.
        "correction.discard": "Threw an unfinished correction away",
        "report.correct": "Corrected a signed report",
        "report.discard": "Threw a draft away",
        "report.export": "Exported a report",
        "report.look": "Looked at a report",
        "report.sign": "Signed a report",
        "report.start": "Started a report",
        "reports.find": "Searched reports",
        "reports.import": "Imported reports",
        "reports.look": "Looked at the list of reports",
        "template.add": "Added a version of the template",
        "template.create": "Chose the first template",
        "template.use": "Made a version of the template the current one",
        "text.claim": "Took a free text to label",
        "text.give_back": "Gave a free text back",
        "text.judge": "Decided between two readers",
        "text.look": "Looked at a free text",
        "text.read": "Labelled a free text",
        "texts.add": "Added free texts to label",
        # Data.
        "data.export": "Exported raw rows",
        "data.look": "Looked at raw rows",
        "import.accept": "Accepted an import",
        "import.check": "Checked an import",
        "import.decide": "Decided on rows of an import",
        "import.discard": "Threw an import away",
        "import.download": "Downloaded rows that an import leaves out",
        "import.look": "Looked at rows of an import",
        "import.mend": "Corrected rows of an import",
        "import.replace": "Replaced values in an import",
        "import.undo": "Took an import back",
        "import.upload": "Uploaded a file",
        "patient.access": "Made a patient's access report",
        "patient.check": "Checked whose report it is",
        "patient.consent": "Changed a patient's consent",
        "patient.erase": "Erased a patient",
        "patient.find": "Searched a patient",
        "patient.identifiers": "Looked at a patient's identifiers",
        "patient.look": "Looked at a patient's records",
        "assessment.make": "Made an impact assessment",
        "data.count": "Looked at exact counts",
        "quality.look": "Looked at the data quality",
        "columns.declare": "Declared computed columns",
        "columns.leave_out": "Left a computed column out of a snapshot: it fits no more",
        "table.add": "Added a table about the same patients",
        "table.discard": "Threw the file of a table away",
        "table.download": "Downloaded rows that a table leaves out",
        "table.remove": "Removed a table about the same patients",
        "table.replace": "Replaced the rows of a table about the same patients",
        "table.upload": "Uploaded a file for a table",
        "snapshot.count": "Bought a noisy number of records for prices",
        "snapshot.make": "Made a snapshot",
        "snapshot.look": "Looked at what limits leave out of a snapshot",
        "snapshot.publish": "Published a snapshot",
        "snapshot.remove": "Removed a snapshot",
        "snapshot.replace": "Replaced a snapshot after an erasure",
        "snapshot.schedule": "Changed the schedule of snapshots",
        # Analyses.
        "analysis.ask": "Asked for a statistic",
        "analysis.export": "Downloaded released values",
        "analysis.original": "Looked at the original of a statistic",
        "analysis.conclusion": "Tried whether the order of a statistic survives the noise of each role",
        "analysis.receive": "Paid for answers that others asked for",
        "analysis.refuse": "Was refused a statistic",
        "analysis.share": "Changed who sees a statistic",
        "ledger.accept": "Accepted the ledger as it is",
        "ledger.head": "Downloaded the head of the ledger",
        "ledger.verify": "Verified the ledger",
        "receipt.rotate": "Made a new key for receipts",
        # Dashboards.
        "dashboard.count": "Bought the number of records for a dashboard",
        "dashboard.edit": "Edited a dashboard",
        "dashboard.make": "Made a dashboard",
        "dashboard.originals": "Looked at the originals behind a dashboard",
        "dashboard.publish": "Published a dashboard",
        "dashboard.refuse": "Was refused the publishing of a dashboard",
        "dashboard.withdraw": "Withdrew a dashboard",
        # Anonymized tables.
        "export.certificate": "Downloaded the certificate of an anonymized table",
        "export.deleted": "Said that their copies of a withdrawn table are deleted",
        "export.discard": "Threw an anonymized export away",
        "export.download": "Downloaded an anonymized table",
        "export.fail": "Could not make an anonymized table",
        "export.make": "Made an anonymized export",
        "export.plan": "Planned an anonymized table",
        "export.release": "Released an anonymized table",
        "export.withdraw": "Withdrew an anonymized table",
        # Synthetic tables.
        "synthetic.buy": "Bought a synthetic table",
        "synthetic.deleted": "Said that their copies of a withdrawn synthetic table are deleted",
        "synthetic.discard": "Threw away a synthetic table that was not paid",
        "synthetic.download": "Downloaded a synthetic table",
        "synthetic.make": "Made a synthetic table",
        "synthetic.original": "Looked at the original next to a synthetic table",
        "synthetic.receipt": "Downloaded the receipt of a synthetic table",
        "synthetic.withdraw": "Withdrew a synthetic table",
        # Attacks.
        "attack.discard": "Threw a run of attacks away",
        "attack.finish": "Finished a run of attacks",
        "attack.report": "Downloaded a leak report",
        "attack.start": "Started a run of attacks",
        # The log itself.
        "audit.export": "Exported the log",
        "audit.head": "Downloaded the head of the log",
        "audit.verify": "Verified the log",
    }
)
"""Action -> words, said of the one who did it."""


REFUSING: frozenset[str] = frozenset(
    action
    for action in ACTIONS
    if action.endswith((".refuse", "_fail")) and action != "request.refuse"  # that one is an owner's decision
)
"""Actions that say that somebody was turned away."""


def words_of(action: str) -> str:
    """Return an action in words; one without words of its own is shown as thing and verb.

    Examples:
        >>> words_of("report.sign"), words_of("ghost.walk_through")
        ('Signed a report', 'Ghost: walk through')
    """
    if action in ACTIONS:
        return ACTIONS[action]
    thing, _, verb = action.partition(".")
    return f"{thing.replace('_', ' ').capitalize()}: {verb.replace('_', ' ')}"


NAMED = 3
"""How many entries of a list a reader sees; the exports have them all."""


def facts_words(facts: Mapping[str, object]) -> str:
    """Return the details of a line as one short text.

    Examples:
        >>> facts_words({"role": "owner", "fields": ["age", "year"], "before": {"budget": 2.0}})
        'role: data owner; fields: age, year; before: budget 2.0'
        >>> facts_words({"filter": "", "reports": ["a1", "b2", "c3", "d4", "e5"]})
        'reports: a1, b2, c3 and 2 more'
    """
    said = [(name, value) for name, value in facts.items() if value is False or value == 0 or value]
    ordered = sorted(said, key=lambda item: item[0] == "after")  # before comes before after
    return "; ".join(f"{name.replace('_', ' ')}: {_plain(value)}" for name, value in ordered)


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name.replace('_', ' ')} {_plain(inner)}" for name, inner in value.items()) or "–"
    if isinstance(value, list):
        more = f" and {len(value) - NAMED} more" if len(value) > NAMED + 1 else ""
        return ", ".join(_plain(item) for item in (value[:NAMED] if more else value)) + more or "–"
    if value is None or value == "":
        return "–"
    if isinstance(value, str) and value in ROLES:
        return ROLES[value].title.lower()
    if isinstance(value, str) and len(value) == 16 and not set(value) - set("0123456789abcdef"):
        return short_id(value)
    return "yes" if value is True else "no" if value is False else str(value)
