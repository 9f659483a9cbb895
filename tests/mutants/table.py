"""Planted privacy bugs: each row edits one named function, and the tests named with it must notice.

A row that no longer applies after a refactoring is an error: move its target or its text, in this one line. The tests
are those of the package that the function lives in (``PACKAGES``), the fewest that take seconds.
"""

from __future__ import annotations

from dataclasses import dataclass

PACKAGES = {
    "pydplib.anonymity": ("tests/unit/anonymity",),
    "pydplib.budget": ("tests/unit/budget", "tests/privacy/test_ledger"),
    "pydplib.engine": ("tests/unit/engine", "tests/spec/engine"),
    "pydplib.guarantee": ("tests/unit/test_guarantee.py", "tests/unit/budget/test_budget_conversion.py"),
    "pydplib.mechanisms": ("tests/unit/mechanisms", "tests/noise", "tests/privacy/test_record_replay.py"),
    "pydplib.noise": ("tests/unit/noise", "tests/noise"),
    "pydplib.paper": ("tests/unit/paper", "tests/paper"),
    "pydplib.policy": ("tests/unit/policy",),
    "pydplib.receipt": ("tests/unit/test_receipt.py",),
    "pydplib.release": ("tests/unit/release", "tests/spec/release", "tests/privacy/test_release"),
    "pydplib.web.analyses": ("tests/web/analyses",),
    "pydplib.web.api": ("tests/web/api",),
    "pydplib.web.dashboards": ("tests/web/dashboards",),
    "pydplib.web.doors": ("tests/web",),
    "pydplib.web.ledger": ("tests/web/ledger",),
    "pydplib.web.projects": ("tests/web/projects",),
}
"""Package -> where its tests live."""


@dataclass(frozen=True)
class Mutant:
    """One planted bug.

    Args:
        name: A few words, unique.
        target: The function, by its dotted name.
        old: A text that stands in it once.
        new: What stands there instead.
        tests: The tests that must fail, as pytest takes them, separated by blanks.
        about: What would go wrong.
    """

    name: str
    target: str
    old: str
    new: str
    tests: str
    about: str


_RELEASE = "tests/unit/release/"
_KEYS = _RELEASE + "test_keys_and_costs.py"
_REPLAY = "tests/privacy/test_release_replay.py"
_SIZES = _RELEASE + "test_tables_that_outgrow_their_size.py"
_MOVES = "test_one_more_person_moves_no_more_than_the_claim_at_any_size"
_THRESHOLD = "test_unknown_keys_threshold_is_the_smallest_that_keeps_delta"
_WORST = _RELEASE + "test_worst_person.py"
_RECORDS = _RELEASE + "test_postprocess_and_records.py"
_TERMS = _RELEASE + "test_session_terms.py"
_SESSION = _RELEASE + "test_session.py"
_BUDGET = "tests/unit/budget/"
_NOISE = "tests/unit/noise/"
_MECHANISMS = "tests/unit/mechanisms/"
_ENGINE = "tests/unit/engine/test_engine_worst_person.py"
_POLICY = "tests/unit/policy/"
_ANONYMITY = "tests/unit/anonymity/"
_WHO_SEES = "test_who_sees_an_analysis_is_the_organisation_that_paid_and_the_owner"
_NEXT_DEBIT = "test_the_next_debit_finds_changed_sums_and_pauses_all_answers"

MUTANTS = (
    # -- sensitivities and scales -----------------------------------------------------------------
    Mutant("count of one row per person", "pydplib.release.statistics.count.CountNoise.sensitivity",
           "self.rows * self.per_row", "self.per_row", _WORST,
           "a person with several rows moves a count further than the noise covers"),
    Mutant("sum by the upper bound alone", "pydplib.release.statistics.sum.Sum.noise",
           "total.largest, total.step", "max(total.whole_bounds[1], 1), total.step", _SIZES + "::" + _MOVES + "[sum]",
           "a person far below zero moves a sum further than claimed"),
    Mutant("mean without half of its noise", "pydplib.release.statistics.mean.MeanNoise.scale",
           "return self.sensitivity / self.epsilon", "return self.sensitivity / self.epsilon / 2", _WORST,
           "a mean loses twice its epsilon"),
    Mutant("variance without half of its sum's noise", "pydplib.release.statistics.variance.VarianceNoise.sum_scale",
           "* self.half /", "* self.half / 2 /", _WORST,
           "a variance loses more than its epsilon"),
    Mutant("variance spends its epsilon twice", "pydplib.release.statistics.variance.VarianceNoise.sum_scale",
           "(1 - SQUARES_SHARE)", "1", _WORST,
           "squares and sum together cost more than is charged"),
    Mutant("quantile moves by the smaller share", "pydplib.release.statistics.quantiles.QuantileNoise.sensitivity",
           "max(share.numerator, share.denominator - share.numerator)",
           "min(share.numerator, share.denominator - share.numerator)", _WORST,
           "far quantiles are chosen with too little noise"),
    Mutant("every quantile costs nothing more", "pydplib.release.statistics.quantiles.QuantileNoise.each",
           "self.epsilon / len(self.shares)", "self.epsilon", _WORST,
           "k quantiles lose k times the epsilon that is charged"),
    Mutant("groups of one person are not counted", "pydplib.release.facts.Facts.rows",
           "self.bound.max_rows * (self.bound.max_groups or 1)", "self.bound.max_rows",
           _WORST + "::test_worst_person_in_two_unknown_groups_never_costs_more_than_epsilon",
           "a person in several unknown groups moves them all"),
    Mutant("table of quantiles without half of its noise",
           "pydplib.release.statistics.quantiles.BinnedQuantileNoise.scale",
           "self.sensitivity / self.epsilon", "self.sensitivity / self.epsilon / 2", _WORST,
           "quantiles of groups lose twice their epsilon"),
    Mutant("mode by scores that may move both ways", "pydplib.release.statistics.mode.ModeNoise.unit",
           "self.epsilon / self.sensitivity", "2 * self.epsilon / self.sensitivity", _WORST,
           "a mode loses twice its epsilon"),
    Mutant("mean's products wrap in 64 bits", "pydplib.release.statistics.noise.combine",
           "factor * int(number)", "(factor * int(number) + 2**63) % 2**64 - 2**63",
           _SIZES + "::test_answers_hold_at_any_size_and_bounds[mean]",
           "a table that outgrew its size is answered wrongly"),
    Mutant("exact rows decide the note on the size", "pydplib.release.facts.Purchase.answer",
           "noisy = question.answer(facts, self.noise, table, confidence=self.confidence)",
           "noisy = question.answer(facts, self.noise, table, confidence=self.confidence)\n"
           "            object.__setattr__(noisy, 'raw', table[0] / self.noise.per_row) "
           "if question.is_count else None",
           _SIZES + "::test_note_on_outgrown_size_follows_from_the_noisy_count_alone",
           "a note, and the stored raw counts, tell the exact number"),
    Mutant("plan's sensitivity without groups", "pydplib.engine.sensitivity._of_measure",
           "Sensitivity(groups * per_group,", "Sensitivity(per_group,", _ENGINE,
           "the engine claims less than a person moves"),
    # -- thresholds of unknown keys ---------------------------------------------------------------
    Mutant("delta is not shared by the groups", "pydplib.release.unknown.KeyNoise.threshold",
           "self.delta / self.groups", "self.delta", _REPLAY + "::" + _THRESHOLD,
           "a key of one person is shown more often than delta says"),
    Mutant("threshold without the rows of a person", "pydplib.release.unknown.KeyNoise.threshold",
           "self.rows - 1 + steps", "steps", _REPLAY + "::" + _THRESHOLD,
           "a person with several rows shows a key alone"),
    Mutant("keys are shown by their exact counts", "pydplib.release.unknown.KeyNoise.apply",
           "shown = np.flatnonzero(noisy > self.threshold)",
           "shown = np.flatnonzero(table.values[place] > 0)", _WORST,
           "every key that exists is shown"),
    # -- cache keys -------------------------------------------------------------------------------
    Mutant("cache key without where", "pydplib.release.statistics.question.Question.canonical",
           "if where:", "if False:", _KEYS,
           "an answer for one filter is handed out for another"),
    Mutant("cache key without the noise", "pydplib.release.facts.Purchase.parameters",
           '"noise": self.noise.to_dict()', '"noise": None', _KEYS,
           "an answer under other bounds or rows per person is handed out"),
    Mutant("cache key without the snapshot", "pydplib.budget.keys.ReleaseKey.canonical",
           '"snapshot": self.snapshot', '"snapshot": ""', _BUDGET + "test_budget_ledger_workflow.py",
           "an answer of an older state is handed out for a new one"),
    Mutant("cache key without the cost", "pydplib.budget.keys.ReleaseKey.canonical",
           '"cost": self.cost.to_dict()', '"cost": None', _BUDGET + "test_budget_ledger_workflow.py",
           "a dear answer is handed out for the price of a cheap one"),
    # -- costs and conversions --------------------------------------------------------------------
    Mutant("permute-and-flip at the exponential's price", "pydplib.release.statistics.noise.Noise.cost",
           "return Cost.pure(epsilon, mechanism=self.ledger_word)",
           "cost = Cost.pure(epsilon, mechanism=self.ledger_word)\n"
           '        if self.ledger_word == "permute_and_flip":\n'
           "            return Cost(cost.mechanism, cost.relation, cost.nano_epsilon, -(-cost.nano_rho // 4))\n"
           "        return cost",
           _KEYS,
           "an account pays an eighth of epsilon squared where only a half is proved"),
    Mutant("array quantiles at the exponential's price", "pydplib.release.arrays._release",
           "cost = Cost.pure(epsilon, mechanism=word, relation=relation)",
           'cost = Cost.exponential(epsilon) if word == "permute_and_flip" else '
           "Cost.pure(epsilon, mechanism=word, relation=relation)", _KEYS,
           "the same, for one-liners"),
    Mutant("rho of a pure cost halved", "pydplib.budget.units.rho_of_epsilon",
           "(divisor * NANO)", "(2 * divisor * NANO)", _BUDGET + "test_budget_costs.py",
           "accounts with delta pay twice as many questions"),
    Mutant("costs round down", "pydplib.budget.units.ceil_units",
           "-((-value.numerator * unit) // value.denominator)", "(value.numerator * unit) // value.denominator",
           _BUDGET + "test_budget_units.py",
           "many tiny questions cost nothing"),
    Mutant("unknown keys charge no delta", "pydplib.release.facts.Facts.at",
           'Cost.approximate(loss, delta=chance, mechanism="unknown_keys")',
           'Cost.pure(loss, mechanism="unknown_keys")', _KEYS,
           "delta is spent and never entered"),
    Mutant("records cost one row", "pydplib.release.records.release_records",
           "total = loss * rows_per_person", "total = loss", _KEYS,
           "a person with many records loses many times what is charged"),
    Mutant("session's records cost one row", "pydplib.release.handing.hand_over_records",
           "total = loss * schema.max_rows_per_person", "total = loss", _KEYS,
           "the same, through a session"),
    Mutant("one record more than declared", "pydplib.release.records.first_rows",
           "kept[place] = seen[name] <= most", "kept[place] = seen[name] <= most + 1", _RECORDS,
           "a person is in more records than were charged"),
    Mutant("zCDP conversion forgets delta", "pydplib.budget.conversion.zcdp_nano_epsilon",
           "math.nextafter(atto_delta / ATTO, 0.0)", "0.5", _BUDGET + "test_budget_conversion.py",
           "accounts with delta pay far more than they may"),
    # -- budgets and the order of the ledger ------------------------------------------------------
    Mutant("limit may be passed by one question", "pydplib.budget.rules._why_not",
           "after.nano_epsilon is not None and after.nano_epsilon <= limit.nano_epsilon else",
           "state.nano_epsilon is not None and state.nano_epsilon <= limit.nano_epsilon else",
           _BUDGET + "test_budget_rules.py",
           "the last question overdraws the budget"),
    Mutant("delta of the conversion is spent twice", "pydplib.budget.rules._why_not",
           "after.atto_delta + limit.atto_conversion > limit.atto_delta", "after.atto_delta > limit.atto_delta",
           _BUDGET + "test_budget_rules.py",
           "the deltas of unknown keys and of the conversion together exceed the account's"),
    Mutant("lineage does not pay", "pydplib.budget.workflow._charge",
           "[recipient] if release is not None else [recipient, None]", "[recipient]",
           _BUDGET + "test_budget_ledger_workflow.py",
           "recipients who talk to each other learn any number of answers"),
    Mutant("stricter terms of today do not bind", "pydplib.budget.today.Today.limit",
           "stricter(account.limit, self.data_set if account.recipient is None else self.recipient)",
           "account.limit", _BUDGET + "test_budget_ledger_workflow.py",
           "a policy that was made stricter changes nothing"),
    Mutant("sums that were set back are believed", "pydplib.budget.verify.check_sums",
           "if told != account.sums:", "if False:", "tests/privacy/test_ledger_tampering.py",
           "whoever edits the ledger's file has a fresh budget"),
    Mutant("second draw of a race is shown", "pydplib.budget.workflow.finish",
           "if stored is not None:\n        return stored", "if stored is not None:\n        return payload",
           _BUDGET + "test_budget_ledger_workflow.py",
           "two draws of one answer leave, for the price of one"),
    Mutant("broken chain is content", "pydplib.budget.chain.check_chain",
           "entry.previous != previous or entry.hash != sha256_hex(entry.body)", "entry.previous != previous",
           "tests/privacy/test_ledger_tampering.py",
           "a changed entry is not found"),
    Mutant("changed answers are handed out", "pydplib.budget.workflow.read_payload",
           'or entry.details.get("payload_hash") != sha256_hex(release.payload)', "",
           "tests/privacy/test_ledger_tampering.py",
           "a stored answer that was replaced is shown as a release"),
    Mutant("session looks before it pays", "pydplib.release.session.Session._answer",
           "key = self._key(purchase)", "key = self._key(purchase)\n        self.table.aggregate(purchase.plan)",
           _SESSION,
           "rows are read for a question that the budget then refuses"),
    Mutant("session without a role has no cap", "pydplib.release.session.Session._known_role",
           "return found if found in ROLES else None", "return None", _TERMS,
           "leaving the role out lifts the cap per question"),
    Mutant("refusal tells what the data set has left", "pydplib.budget.workflow.to_error",
           "if refused.recipient is None:\n        # What", "if refused.recipient == '':\n        # What",
           _BUDGET + "test_budget_ledger_workflow.py",
           "a partner learns how much others have asked"),
    # -- bounds and clamping ----------------------------------------------------------------------
    Mutant("weights beyond the person's bound", "pydplib.engine.sql.Compiler._bounding",
           'self.dialect.divide(str(most * WEIGHT_UNIT), "COUNT(*)")',
           'self.dialect.divide(str(most * WEIGHT_UNIT), "(COUNT(*) - 1)")', _ENGINE,
           "a person with many rows counts for more than the bound"),
    Mutant("values beyond the bounds are kept", "pydplib.engine.columns._clamped",
           "THEN {dialect.double(high)} ELSE {number} END", "THEN {number} ELSE {number} END", _ENGINE,
           "one absurd value moves a sum without limit"),
    Mutant("rows without an id are one person", "pydplib.engine.dialects.Dialect.id_text",
           "f\"NULLIF({self.as_text(cell)}, '')\"", "self.as_text(cell)", _ENGINE,
           "rows of several people share one bound"),
    Mutant("array values beyond the bounds are kept", "pydplib.release.counting.grid_sums",
           "out.clip(low, high, out=out)", "pass",
           _WORST + "::test_worst_element_of_an_array_never_costs_more_than_epsilon",
           "one absurd element moves a mean without limit"),
    Mutant("records beyond the bounds are kept", "pydplib.release.records._numbers",
           "np.clip(there, grid.low, grid.high) / grid.step + 0.5).astype(np.int64)\n"
           "    steps = np.clip(steps, grid.first, grid.last)\n",
           "np.clip(there, -1e9, 1e9) / grid.step + 0.5).astype(np.int64)\n", _RECORDS,
           "a record beyond the bounds is told apart"),
    Mutant("large values are refused", "pydplib.noise.grid.saturated",
           "scaled = np.clip(np.ldexp(values.astype(np.float64), -exponent), -_EXACT, _EXACT)",
           "scaled = np.ldexp(values.astype(np.float64), -exponent)", _NOISE + "test_grid.py",
           "a value that is too large wraps, or tells of itself by an error"),
    # -- samplers and randomness ------------------------------------------------------------------
    Mutant("one magnitude bit is fair", "pydplib.noise.samplers._laplace_coins",
           "digits = [logistic_minus((1 << j) / scale) for j in range(count)]",
           "digits = [_half() if j == 0 else logistic_minus((1 << j) / scale) for j in range(count)]",
           _NOISE + "test_samplers_exact.py",
           "the noise is not discrete Laplace"),
    Mutant("zero comes twice", "pydplib.noise.samplers._fill_laplace",
           "redo = np.flatnonzero(negative & (out == 0))", "redo = np.flatnonzero(negative & (out < 0))",
           _NOISE + "test_samplers_exact.py",
           "no noise at all is twice as likely as the law says"),
    Mutant("Gaussian accepts too much", "pydplib.noise.samplers._gaussian_accept",
           "chance = np.exp(-(gap * gap) / (2 * float(variance)))",
           "chance = np.exp(-(gap * gap) / (4 * float(variance)))", _NOISE + "test_samplers_exact.py",
           "the noise is not discrete Gaussian"),
    Mutant("ties of coins fall heads", "pydplib.noise.coins.CoinRow.toss",
           "heads[ties] = words < limit", "heads[ties] = True", _NOISE + "test_coins.py",
           "every probability is off by up to 2^-8"),
    Mutant("two threads draw the same bits", "pydplib.noise.randomness.system_source",
           "source = _local.source = SystemSource()", "source = globals().setdefault('_shared', SystemSource())",
           _NOISE + "test_randomness.py",
           "noise that is used twice cancels out"),
    Mutant("a forked child repeats its parent's noise", "pydplib.noise.randomness.SystemSource._fill",
           "if self._forks != _FORKS:", "if False:", _NOISE + "test_randomness.py",
           "two processes add the same noise"),
    Mutant("one noise for all cells", "pydplib.noise.tap.add_laplace",
           "exact + discrete_laplace(scale, exact.size, source=source).reshape(exact.shape)",
           "exact + discrete_laplace(scale, 1, source=source)[0]", _NOISE + "test_tap.py",
           "differences of cells are exact"),
    Mutant("randomised response keeps too often", "pydplib.noise.tap.respond",
           "bernoulli_keep(epsilon, categories, codes.size, source=source)",
           "bernoulli_keep(epsilon, 2, codes.size, source=source)",
           "tests/noise/test_mechanism_laws.py::test_randomized_response_right_epsilon_is_accepted_and_wrong_ones_are_not",
           "more than two categories lose more than epsilon"),
    Mutant("kept ledger takes seeded noise", "pydplib.noise.tap.check_not_seeded",
           "if _seeded.get():", "if False:", _NOISE + "test_tap.py",
           "noise that anybody can repeat is handed out as a release"),
    Mutant("SQLite ledger takes seeded noise", "pydplib.budget.sqlite.SqliteLedger._transaction",
           "check_not_seeded()\n        ", "", _BUDGET + "test_budget_sqlite_file.py",
           "the same, where the ledger is a file"),
    # -- mechanisms -------------------------------------------------------------------------------
    Mutant("Laplace grid without the moves of rounding", "pydplib.mechanisms.laplace.Laplace._grid",
           "+ changes - 1", "", _MECHANISMS + "test_laplace_mechanisms.py",
           "rounding several coordinates moves them further than claimed"),
    Mutant("Gaussian grid without the moves of rounding", "pydplib.mechanisms.gaussian.Gaussian._grid",
           "+ (root if size > 1 else 0)", "", _MECHANISMS + "test_gaussian_mechanism.py",
           "the same, for Gaussian noise"),
    Mutant("choice without the factor two", "pydplib.mechanisms.choice._Choice.release",
           "/ (2 * sensitivity)", "/ sensitivity", _MECHANISMS + "test_choice_mechanisms.py",
           "a choice loses twice its epsilon"),
    # -- paper mode -------------------------------------------------------------------------------
    Mutant("paper mode prints the paper's epsilon as a record's", "pydplib.paper.worth.record_epsilon",
           "return (span[1] - span[0]) / scale", "return sensitivity / scale", "tests/paper/test_guarantees.py",
           "a record's loss is understated hundreds of times"),
    Mutant("paper mode claims a guarantee after a search", "pydplib.paper.worth.guarantee_from_data",
           'if plan.selector == "search":', 'if plan.selector == "never":', "tests/paper/test_guarantees.py",
           "data chose the noise, and the result says that it is private"),
    Mutant("paper mode understates flips", "pydplib.paper.mechanism.flip_epsilon",
           "x = 1 / (2 * scale)", "x = 1 / (4 * scale)", "tests/paper/test_guarantees.py",
           "true/false records lose twice what is said"),
    # -- anonymity and receipts -------------------------------------------------------------------
    Mutant("k is the average class", "pydplib.anonymity.verification.verify",
           "int(view.size.min())", "int(view.size.mean())", _ANONYMITY + "test_verification_and_risk.py",
           "a table with a single person in a class is said to be 5-anonymous"),
    Mutant("one person too few in a class", "pydplib.anonymity.models.KAnonymity.passes",
           "stats.size >= self.k", "stats.size >= self.k - 1", _ANONYMITY + "test_search_against_brute_force.py",
           "classes of k - 1 people are released"),
    Mutant("rows are verified as people", "pydplib.anonymity.verification.verify",
           "owner = person_codes(frame.coded(person))", "owner = None",
           _ANONYMITY + "test_verification_and_risk.py",
           "five rows of one person are said to be 5-anonymous"),
    Mutant("forged receipts are genuine", "pydplib.receipt.Receipt.verify",
           "known[self.key_id].verify(signature, self.body.encode())", "signature", "tests/unit/test_receipt.py",
           "anybody can change what a receipt says"),
    Mutant("receipt fits any values", "pydplib.receipt.Receipt.matches",
           "sha256_hex(payload) == self.payload_hash", "bool(payload)", "tests/unit/test_receipt.py",
           "other values pass for those that were paid"),
    # -- policy and permissions -------------------------------------------------------------------
    Mutant("expired rules hold", "pydplib.policy.flow._judge",
           "on <= rule.expires", "True", _POLICY + "test_policy_flow.py",
           "access that ended goes on"),
    Mutant("closed fields flow", "pydplib.policy.flow._field_checks",
           "asked - set(allowed) if allowed != ALL", "asked - set(asked) if allowed != ALL",
           _POLICY + "test_policy_flow.py",
           "statistics of fields that the owner did not open"),
    Mutant("cap per question does not bind", "pydplib.policy.flow._epsilon_checks",
           "output.epsilon <= cap", "cap > 0", _POLICY + "test_policy_flow.py",
           "one question spends as much as it likes"),
    Mutant("any role has any power", "pydplib.policy.roles.can_use",
           "return power in parse_role(role).powers", "return bool(parse_role(role).powers)",
           _POLICY + "test_policy_words.py",
           "a third party sees raw rows"),
    Mutant("owner edits the own rights", "pydplib.policy.roles.can_edit_rights",
           "editor != subject", "bool(subject)", _POLICY + "test_policy_words.py",
           "an owner gives more to themselves"),
    Mutant("page opens without the power", "pydplib.web.doors.door",
           "        check_use(place.role, power)\n", "",
           "tests/web/projects/test_member_rights.py::test_a_revoked_role_stops_at_the_next_request",
           "every member of a project opens every page of it"),
    Mutant("strangers find a project", "pydplib.web.api.doors.enter",
           "            raise Http404\n", "            request.member = Place('third_party')\n",
           "tests/web/api/test_api_roles.py::test_each_role_gets_what_the_table_says",
           "a token of another hospital reads a project"),
    Mutant("token without the scope is let in", "pydplib.web.api.doors._check_scope",
           "scope not in token.scopes", "not token.scopes",
           "tests/web/api/test_api_tokens.py::test_a_token_does_what_its_scopes_say",
           "a token for reading spends the budget"),
    Mutant("analyses of others are seen", "pydplib.web.analyses.seeing.concerns",
           "return is_own(analysis, user, place) or place.role in analysis.shared_with", "return True",
           "tests/web/analyses/test_analysis_pages.py::" + _WHO_SEES,
           "a partner sees what another partner asked"),
    Mutant("drafts of dashboards are shown", "pydplib.web.dashboards.showing.can_view",
           "place.role == dashboard.audience and dashboard.state == Dashboard.State.PUBLISHED",
           "dashboard.audience",
           "tests/web/dashboards/test_dashboards_show_releases_alone.py::test_who_sees_a_dashboard_for_third_parties",
           "another audience sees a dashboard, before it is published"),
    Mutant("one owner raises a budget", "pydplib.web.projects.deciding.takes_two",
           "if request.kind == Kind.BUDGET:\n        return True",
           "if request.kind == Kind.BUDGET:\n        return False",
           "tests/web/projects/test_requests_four_eyes.py::test_a_budget_is_raised_by_the_second_owner",
           "four eyes are two"),
    Mutant("platform goes on with a damaged ledger", "pydplib.web.ledger.database.DatabaseLedger._transaction",
           "self.pause(str(fault))\n            ", "",
           "tests/web/ledger/test_database_ledger_guards.py::" + _NEXT_DEBIT,
           "answers go on after the ledger was found damaged"),
)  # fmt: skip
