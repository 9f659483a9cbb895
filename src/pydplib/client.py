"""A client of the platform's API: ask from a notebook, get releases that print, plot and become frames."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydplib._client_values import (
    AnalysisEntry,
    AttackReport,
    Download,
    ExportEntry,
    ProjectEntry,
    Recipient,
    SyntheticEntry,
    SyntheticPrice,
    read_analysis,
    read_export,
    read_price,
    read_project,
    read_recipient,
    read_release,
    read_remaining,
    read_report,
    read_synthetic,
    read_synthetic_price,
    read_tables,
)
from pydplib._http import Transport
from pydplib.budget.rules import Remaining
from pydplib.errors import DataError, EngineError, ParameterError, ReceiptError
from pydplib.receipt import IssuerKey, Receipt, parse_public_key, read_public_keys
from pydplib.release import MeasuredTables, Price, Question, Release
from pydplib.release.joint.purchases import Together
from pydplib.release.prices import Accuracy
from pydplib.schema import Schema
from pydplib.synthesis.table import SyntheticTable

_TABLES = ("csv", "parquet")
_Busy = TypeVar("_Busy", SyntheticEntry, AttackReport)


class Client:
    """A connection to a platform, in the name of whoever made the token.

    Args:
        url: The platform's address: https, or http on this very machine.
        token: The token from the account page. It is shown in no message, no repr and no log.
        keys: The public keys of receipts that you trust: base64 texts, or a file of them. Compare them with what the
            hospital told you; a server cannot vouch for itself.
        timeout: Seconds after which a request is given up.
        ca_file: The certificate of a private certificate authority, if the platform has one.

    Examples:
        >>> client = Client("https://edc.example", "pydp_" + "x" * 43)
        >>> client
        Client('https://edc.example')
        >>> Client("http://edc.example", "pydp_" + "x" * 43)
        Traceback (most recent call last):
        ...
        pydplib.errors.ParameterError: A token is sent over https only, or to this very machine. Use https://edc.example.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        keys: str | Path | Iterable[str] = (),
        timeout: float = 60.0,
        ca_file: str | Path | None = None,
    ) -> None:
        self._transport = Transport(url, token, timeout=timeout, ca_file=ca_file)
        self._keys = _read_keys(keys)

    @classmethod
    def from_environment(
        cls,
        environment: Mapping[str, str] = os.environ,
        *,
        keys: str | Path | Iterable[str] = (),
        timeout: float = 60.0,
        ca_file: str | Path | None = None,
    ) -> Client:
        """Return a client from ``PYDPLIB_URL``, ``PYDPLIB_TOKEN`` and, if set, ``PYDPLIB_KEYS`` (a file).

        Args:
            environment: Where these are looked up.
            keys: The public keys that you trust, if not by ``PYDPLIB_KEYS``.
            timeout: Seconds after which a request is given up.
            ca_file: The certificate of a private certificate authority.

        Examples:
            >>> Client.from_environment({"PYDPLIB_URL": "https://edc.example"})
            Traceback (most recent call last):
            ...
            pydplib.errors.ParameterError: Set PYDPLIB_TOKEN: make a token on the platform's account page.
        """
        if not environment.get("PYDPLIB_URL"):
            raise ParameterError("Set PYDPLIB_URL to the platform's address, e.g. https://edc.example.")
        if not environment.get("PYDPLIB_TOKEN"):
            raise ParameterError("Set PYDPLIB_TOKEN: make a token on the platform's account page.")
        url, token = environment["PYDPLIB_URL"], environment["PYDPLIB_TOKEN"]
        pinned = keys or environment.get("PYDPLIB_KEYS") or ()
        return cls(url, token, keys=pinned, timeout=timeout, ca_file=ca_file)

    @property
    def url(self) -> str:
        """The platform's address."""
        return self._transport.url

    def whoami(self) -> dict[str, Any]:
        """Return the token's user, organisation, scopes and expiry."""
        return dict(self._get("token"))

    def projects(self) -> list[ProjectEntry]:
        """Return the projects in which the token's user has a place."""
        return [read_project(values) for values in self._get("projects")]

    def project(self, key: str) -> Project:
        """Return one project: what may be asked in it, and how.

        Args:
            key: Its key, as ``projects()`` shows it.
        """
        return Project(self, self._get("projects", key))

    def analysis(self, key: str) -> Release:
        """Return the released values of an analysis.

        Args:
            key: The analysis's key, as ``Project.analyses()`` shows it.
        """
        return read_release(self._get("analyses", key)["release"])

    def server_keys(self) -> list[dict[str, Any]]:
        """Return the public keys that the server itself shows: to compare, not to trust."""
        return list(self._get("receipts", "keys")["keys"])

    def receipt(self, analysis: AnalysisEntry | str) -> Receipt:
        """Return the receipt of an analysis, verified: signed by a key you trust, and about these very bytes.

        Its ``issuer_id`` says who signed, by an id that nobody else can have. If your keys are a file that the server
        gave out, the key must belong to that issuer. Where ``is_issuer_checked`` is false, the receipt is of an old
        format: the server signed it, and its issuer's name was not checked then.

        Args:
            analysis: An entry of ``Project.analyses()``, or its key.

        Raises:
            ReceiptError: It is forged, of another release, or signed by a key that is not among yours.
        """
        self._check_keys()
        key = _key(analysis)
        return self._checked(
            self._transport.read("GET", "analyses", key, "receipt"),
            lambda: self._transport.read("GET", "analyses", key, "release"),
            analysis.release_key if isinstance(analysis, AnalysisEntry) else None,
        )

    def export(self, key: str) -> ExportEntry:
        """Return one anonymized table: where it stands and what it holds.

        Args:
            key: Its key, as ``Project.exports()`` shows it.
        """
        return read_export(self._get("exports", key))

    def certificate(self, export: ExportEntry | str) -> dict[str, Any]:
        """Return what an anonymized table guarantees, measured on the table alone; ``dp.verify`` measures it again.

        Args:
            export: An entry of ``Project.exports()``, or its key.
        """
        return dict(self._get("exports", _key(export), "certificate"))

    def download(self, export: ExportEntry | str, path: str | Path, *, overwrite: bool = False) -> Download:
        """Save an anonymized table and, next to it, its certificate; the file is checked against the certificate.

        The platform notes every copy: if the owner takes the table back, you are asked to delete it. The token needs
        the scope ``export``.

        Args:
            export: An entry of ``Project.exports()``, or its key.
            path: Where to, ending in ``.csv`` or ``.parquet``; the certificate goes to ``NAME.certificate.json``.
            overwrite: Whether files that are there already may be replaced.

        Raises:
            PolicyError: The policy does not let it go to you, or the owner has withdrawn it.
            DataError: What arrived is not the file that the certificate is about; nothing was kept.

        Examples:
            >>> Client("https://edc.example", "pydp_" + "x" * 43).download("some-key", "table.xlsx")
            Traceback (most recent call last):
            ...
            pydplib.errors.ParameterError: A table is saved as .csv or .parquet. Got a name that ends in '.xlsx'.
        """
        file = Path(path)
        kind = file.suffix.lower().removeprefix(".")
        if kind not in _TABLES:
            raise ParameterError(f"A table is saved as .csv or .parquet. Got a name that ends in '{file.suffix}'.")
        beside = file.with_suffix(".certificate.json")
        taken = [each.name for each in (file, beside) if each.exists()]
        if taken and not overwrite:
            raise ParameterError(f"'{taken[0]}' is there already. Choose another name, or give overwrite=True.")
        certificate = self.certificate(export)
        part = file.with_name(f"{file.name}.part")
        try:
            with part.open("wb") as out:
                digest = self._transport.save(out, "POST", "exports", _key(export), "download", body={"kind": kind})
            if digest != dict(certificate.get("sha256") or {}).get(kind):
                raise DataError("The file that arrived is not the one of the certificate. Nothing was kept: try again.")
            beside.write_text(json.dumps(certificate, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
            part.replace(file)
        finally:
            part.unlink(missing_ok=True)
        return Download(file, beside, certificate)

    def run_export(self, export: ExportEntry | str) -> ExportEntry:
        """Make a planned table, or begin again after a break; for owners. ``export()`` says how far it is.

        Args:
            export: An entry of ``Project.exports()``, or its key.
        """
        return read_export(self._post("exports", _key(export), "run", body={}))

    def synthetic(self, table: SyntheticEntry | str, *, wait: float = 0.0) -> SyntheticEntry:
        """Return where a synthetic table stands.

        Args:
            table: An entry of ``Project.synthetic_tables()``, or its key.
            wait: The most seconds to wait until it is made.
        """
        return self._wait(lambda: read_synthetic(self._get("synthetic", _key(table))), wait)

    def synthetic_table(self, table: SyntheticEntry | str, *, wait: float = 600.0) -> SyntheticTable:
        """Return a synthetic table: ``to_frame(backend="pandas")``, margins, intervals, copies; waits until it is made.

        Args:
            table: An entry of ``Project.synthetic_tables()``, or its key.
            wait: The most seconds to wait.

        Proof: the platform's session makes the release (see ``Session.synthesize``); what is done here is reading it.

        Raises:
            PolicyError: It was withdrawn, or the policy does not let it go to you any more.
            EngineError: It is not made yet.
        """
        entry = self.synthetic(table, wait=wait)
        if entry.state not in ("ready", "withdrawn"):
            why = f" {entry.problem}" if entry.problem else ""
            raise EngineError(f"The table is not made yet (state '{entry.state}').{why} Nothing is paid twice: go on.")
        return SyntheticTable.from_json(self._synthetic_payload(entry))

    def synthetic_receipt(self, table: SyntheticEntry | str) -> Receipt:
        """Return the receipt of a synthetic table, verified as in ``receipt``.

        Args:
            table: An entry of ``Project.synthetic_tables()``, or its key.

        Raises:
            ReceiptError: It is forged, of another release, or signed by a key that is not among yours.
        """
        self._check_keys()
        entry = self.synthetic(table)
        return self._checked(
            self._transport.read("GET", "synthetic", entry.key, "receipt"),
            lambda: self._synthetic_payload(entry),
            entry.release_key,
        )

    def continue_synthetic(self, table: SyntheticEntry | str) -> SyntheticEntry:
        """Go on with a synthetic table that broke off; nothing is paid twice.

        Args:
            table: An entry of ``Project.synthetic_tables()``, or its key.
        """
        return read_synthetic(self._post("synthetic", _key(table), "run", body={}))

    def _synthetic_payload(self, entry: SyntheticEntry) -> bytes:
        return self._transport.read("POST", "synthetic", entry.key, "download", body={"kind": "json"})

    def _check_keys(self) -> None:
        if not self._keys:
            raise ReceiptError(
                "A receipt is worth as much as the key that you trust. Give the hospital's public keys: "
                "Client(url, token, keys=...); server_keys() shows the server's own, to compare with what you heard."
            )

    def _checked(self, text: bytes, payload: Callable[[], bytes], listed: str | None) -> Receipt:
        receipt = Receipt.from_json(text.decode())
        receipt.verify(self._keys)
        if not receipt.matches(payload()) or receipt.release != (receipt.release if listed is None else listed):
            raise ReceiptError("The receipt is genuine, but of another release than the one that the server gave out.")
        return receipt

    def _wait(self, read: Callable[[], _Busy], wait: float) -> _Busy:
        until, pause = time.monotonic() + wait, 0.5
        while True:
            found = read()
            if not found.is_busy or time.monotonic() >= until:
                return found
            time.sleep(min(pause, max(0.0, until - time.monotonic())))
            pause = min(2 * pause, 10.0)

    def attack_report(self, run: AttackReport | str, *, wait: float = 0.0) -> AttackReport:
        """Return a run of attacks: how far it is, or what it found; for owners and data protection officers.

        Args:
            run: The run, or its key.
            wait: The most seconds to wait for its end.
        """
        return self._wait(lambda: read_report(self._get("attacks", _key(run))), wait)

    def __repr__(self) -> str:
        return f"Client('{self.url}')"

    def _get(self, *path: str, **query: Any) -> Any:
        return self._transport.json("GET", *path, query=query)

    def _post(self, *path: str, body: Mapping[str, Any]) -> Any:
        return self._transport.json("POST", *path, body=body)


class Project:
    """One project of the platform; made by ``Client.project``."""

    def __init__(self, client: Client, values: Mapping[str, Any]) -> None:
        self._client = client
        self._offer = values.get("offer")
        self._tables = values.get("tables") or ()
        self.key: str = values["key"]
        self.name: str = values["name"]
        self.purpose: str = values["purpose"]
        self.role: str = values["role"]

    @property
    def schema(self) -> Schema:
        """The public facts of the fields that the policy opens to you: kinds, bounds, categories."""
        return Schema.from_dict(self._offered["schema"])

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields that answers may mention."""
        return tuple(self._offered["fields"])

    @property
    def filters(self) -> tuple[str, ...]:
        """The fields that conditions may use."""
        return tuple(self._offered["filters"])

    @property
    def data_tables(self) -> dict[str, Schema]:
        """What ``table=`` may name -> its public facts: reports (an empty name), lesions, visits, and tables as one."""
        return {each["name"]: Schema.from_dict(each["schema"]) for each in self._tables}

    @property
    def budget(self) -> Remaining | None:
        """What is left of your organisation's budget, asked again each time; none for roles that ask nothing."""
        own = self._client._get("projects", self.key, "budget")["own"]
        return None if own is None else read_remaining(own)

    def price(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        noise_factor: str | None = None,
        margin: float | None = None,
        confidence: float = 0.95,
        table: str = "",
    ) -> Price:
        """Return what a question would cost and how accurate it would be; nothing is spent.

        Give at most one of ``epsilon``, ``noise_factor`` and ``margin``; with none, the noise factor is your role's.
        ``table`` names one of ``data_tables``, such as ``"lesion"`` or ``"follow_up"``; by default a row is a report.
        """
        body = _body(
            question, Accuracy(epsilon=epsilon, margin=margin, noise_factor=noise_factor, confidence=confidence)
        )
        body |= {"table": table} if table else {}
        return read_price(self._client._post("projects", self.key, "price", body=body))

    def ask(
        self,
        question: Question,
        *,
        epsilon: float | None = None,
        noise_factor: str | None = None,
        margin: float | None = None,
        at_most: float | None = None,
        confidence: float = 0.95,
        table: str = "",
    ) -> Release:
        """Pay for a question and return the release; the same question again is free and the same.

        Args:
            question: What is asked.
            epsilon: The privacy loss.
            noise_factor: Or ``"low"``, ``"medium"`` or ``"high"``; your role's if neither is given.
            margin: Or the margin wanted.
            at_most: The most epsilon to spend on it in total, such as the price that you saw. If it would cost more,
                it is refused; without it, it is paid whatever it costs.
            confidence: How often margins and intervals cover; another one is another release.
            table: One of ``data_tables``, such as ``"lesion"`` or ``"follow_up"``; by default a row is a report.

        Proof: the platform's session makes the release (see ``Session.release``); what is done here is reading it.

        Raises:
            BudgetError: The budget cannot pay, or it costs more than ``at_most``; shows what was asked. Nothing was
                spent.
            PolicyError: The policy does not allow it.
        """
        body = _body(
            question, Accuracy(epsilon=epsilon, margin=margin, noise_factor=noise_factor, confidence=confidence)
        ) | ({} if at_most is None else {"at_most": at_most})
        body |= {"table": table} if table else {}
        return read_release(self._client._post("projects", self.key, "analyses", body=body)["release"])

    def price_all(
        self,
        questions: Iterable[Question],
        *,
        epsilon: float | None = None,
        each: float | Sequence[float] | None = None,
        delta: float | None = None,
        confidence: float = 0.95,
    ) -> Price:
        """Return what several tables of counts would cost as one release, with the margin of each; nothing is spent.

        Args:
            questions: ``Count``, ``Histogram`` and ``Crosstab`` over public keys.
            epsilon: What all of them may cost together.
            each: Or what each would cost alone, one number or one for each question: all together then cost the least
                at which no margin is larger.
            delta: The chance that epsilon may fail, where your budget has one.
            confidence: How often margins cover.
        """
        body = _together(questions, Together(epsilon, each, delta, confidence))
        return read_price(self._client._post("projects", self.key, "tables", "price", body=body))

    def release_all(
        self,
        questions: Iterable[Question],
        *,
        epsilon: float | None = None,
        each: float | Sequence[float] | None = None,
        delta: float | None = None,
        at_most: float | None = None,
        confidence: float = 0.95,
    ) -> MeasuredTables:
        """Pay for several tables of counts as one release: one price, one ledger entry, numbers that agree.

        The same questions again are free and the same. Whatever the tables tell is free afterwards: ``ask`` says so.

        Args:
            questions: ``Count``, ``Histogram`` and ``Crosstab`` over public keys.
            epsilon: What all of them may cost together.
            each: Or what each would cost alone; see ``price_all``.
            delta: The chance that epsilon may fail, where your budget has one.
            at_most: The most epsilon to spend in total. If it would cost more, it is refused.
            confidence: How often margins and intervals cover.

        Proof: the platform's session makes the release (see ``Session.release_all``); what is done here is reading it.

        Raises:
            BudgetError: The budget cannot pay, or it costs more than ``at_most``. Nothing was spent.
            PolicyError: The policy does not allow one of them.
        """
        body = _together(questions, Together(epsilon, each, delta, confidence)) | (
            {} if at_most is None else {"at_most": at_most}
        )
        return read_tables(self._client._post("projects", self.key, "tables", body=body))

    def bought(self) -> list[MeasuredTables]:
        """Return the tables that your organisation has paid for, of the published snapshot."""
        found = self._client._get("projects", self.key, "tables")["items"]
        return [read_tables({"tables": tables}) for tables in found]

    def analyses(self) -> list[AnalysisEntry]:
        """Return the analyses that you may see, the newest first."""
        found: list[AnalysisEntry] = []
        while True:
            page = self._client._get("projects", self.key, "analyses", limit=200, offset=len(found))
            found += [read_analysis(values) for values in page["items"]]
            if len(found) >= page["count"] or not page["items"]:
                return found

    def receipt(self, analysis: AnalysisEntry | str) -> Receipt:
        """Return the verified receipt of an analysis; see ``Client.receipt``."""
        return self._client.receipt(analysis)

    def price_synthetic(
        self,
        columns: Iterable[str],
        relations: Iterable[Iterable[str]] = (),
        *,
        epsilon: float | None = None,
        noise_factor: str | None = None,
        noise: Literal["auto", "gaussian", "laplace"] = "auto",
        find: bool = False,
    ) -> SyntheticPrice:
        """Return what a synthetic table would cost and how close it would be; nothing is spent.

        Args:
            columns: The columns.
            relations: Pairs or triples of columns that are always measured: intervals and tests hold for them.
            epsilon: The privacy loss; or give ``noise_factor``.
            noise_factor: ``"low"``, ``"medium"`` or ``"high"``.
            noise: The kind of noise; ``"auto"`` for whichever leaves your budget better off at equal fidelity.
            find: Whether further relations are searched for, from the same price.
        """
        body = _synthetic(columns, relations, epsilon, noise_factor, noise, find)
        return read_synthetic_price(self._client._post("projects", self.key, "synthetic", "price", body=body))

    def buy_synthetic(
        self,
        columns: Iterable[str],
        relations: Iterable[Iterable[str]] = (),
        *,
        epsilon: float | None = None,
        noise_factor: str | None = None,
        noise: Literal["auto", "gaussian", "laplace"] = "auto",
        find: bool = False,
        at_most: float | None = None,
    ) -> SyntheticEntry:
        """Pay for a synthetic table, which is made in the background; the same purchase again is free and the same.

        ``Client.synthetic_table`` waits for it and returns it.

        Args:
            columns: The columns.
            relations: Pairs or triples of columns that are always measured.
            epsilon: The privacy loss; or give ``noise_factor``.
            noise_factor: ``"low"``, ``"medium"`` or ``"high"``.
            noise: The kind of noise.
            find: Whether further relations are searched for.
            at_most: The most epsilon to spend. If it would cost more, it is refused.

        Raises:
            BudgetError: The budget cannot pay, or it costs more than ``at_most``. Nothing was spent.
            PolicyError: The policy does not allow it.
        """
        body = _synthetic(columns, relations, epsilon, noise_factor, noise, find)
        body |= {} if at_most is None else {"at_most": at_most}
        return read_synthetic(self._client._post("projects", self.key, "synthetic", body=body))

    def synthetic_tables(self) -> list[SyntheticEntry]:
        """Return the synthetic tables that your organisation has bought; for owners all of them. The newest first."""
        return [read_synthetic(values) for values in self._client._get("projects", self.key, "synthetic")["items"]]

    def exports(self) -> list[ExportEntry]:
        """Return the anonymized tables that were released to you; for owners all of them. The newest first."""
        return [read_export(values) for values in self._client._get("projects", self.key, "exports")["items"]]

    def download(self, export: ExportEntry | str, path: str | Path, *, overwrite: bool = False) -> Download:
        """Save an anonymized table with its certificate; see ``Client.download``."""
        return self._client.download(export, path, overwrite=overwrite)

    def recipients(self) -> list[Recipient]:
        """Return what each recipient could learn at most by the guarantees alone; for owners and officers."""
        given = self._client._get("projects", self.key, "attacks")["given"]
        return [read_recipient(values) for values in given]

    def attack_reports(self) -> list[AttackReport]:
        """Return the newest runs of attacks, with what they found; for owners and data protection officers."""
        return [read_report(values) for values in self._client._get("projects", self.key, "attacks")["runs"]]

    def attack_report(self, run: AttackReport | str, *, wait: float = 0.0) -> AttackReport:
        """Return how far a run is, or what it found; see ``Client.attack_report``."""
        return self._client.attack_report(run, wait=wait)

    def start_attacks(
        self, recipient: Recipient | str, *, data: Literal["twin", "real"] = "twin", minutes: Literal[1, 5, 15] = 5
    ) -> AttackReport:
        """Attack on behalf of a recipient, in the background; ``attack_report`` says what was found.

        Args:
            recipient: Whose eyes: one of ``recipients()``, or its ``subject``.
            data: ``"twin"``: made-up people with the same fields; ``"real"``: the published snapshot.
            minutes: How long it may take: 1, 5 or 15.
        """
        subject = recipient if isinstance(recipient, str) else recipient.subject
        body = {"subject": subject, "data": data, "minutes": minutes}
        return read_report(self._client._post("projects", self.key, "attacks", body=body))

    def __repr__(self) -> str:
        return f"Project '{self.name}' ({self.key}) as {self.role}"

    @property
    def _offered(self) -> Mapping[str, Any]:
        if self._offer is None:
            raise ParameterError(
                f"There is nothing to ask in '{self.name}': your role ({self.role}) asks no statistics, or the owner "
                "has not published any data yet."
            )
        return dict(self._offer)


def _body(question: Question, accuracy: Accuracy) -> dict[str, Any]:
    if not isinstance(question, Question):
        raise ParameterError("Ask a question such as dp.Mean('age', by='pirads').")
    return {"question": question.to_dict()} | accuracy.options()


def _together(questions: Iterable[Question], said: Together) -> dict[str, Any]:
    asked = list(questions) if not isinstance(questions, Question) else []
    if not asked or not all(isinstance(question, Question) for question in asked):
        raise ParameterError("Ask a list of questions: [dp.Count(by='pirads'), dp.Histogram('age', bins=8)].")
    losses = None if said.each is None else [float(loss) for loss in said.of(len(asked))]
    sent = {"epsilon": said.epsilon, "each": losses, "delta": said.delta, "confidence": said.confidence}
    plain = {name: value for name, value in sent.items() if value is not None}
    return {"questions": [question.to_dict() for question in asked]} | plain


def _synthetic(
    columns: Iterable[str],
    relations: Iterable[Iterable[str]],
    epsilon: float | None,
    noise_factor: str | None,
    noise: str,
    find: bool,
) -> dict[str, Any]:
    if isinstance(columns, str):
        raise ParameterError("columns= is a list of names: ['age', 'pirads'].")
    body = {"columns": list(columns), "relations": [list(each) for each in relations], "find": find, "noise": noise}
    said = {"epsilon": epsilon, "noise_factor": noise_factor}
    return body | {name: value for name, value in said.items() if value is not None}


def _key(value: AnalysisEntry | ExportEntry | AttackReport | SyntheticEntry | str) -> str:
    return value if isinstance(value, str) else value.key


def _read_keys(keys: str | Path | Iterable[str]) -> list[IssuerKey]:
    if isinstance(keys, str | Path):
        return read_public_keys(keys)
    return [IssuerKey(parse_public_key(key)) for key in keys]
