"""What a lower app asks of the apps above it, without importing them: the one place for such questions.

A lower app calls a hook and gets the answers of all that registered; an app above registers when Django starts::

    from pydplib.web import hooks

    @hooks.project_created.register
    def choose_template(...): ...

The module that registers is named in its app's ``apps.py`` (``PlatformApp.registers``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, ClassVar, Generic, ParamSpec, TypeVar

from django.apps import AppConfig

if TYPE_CHECKING:
    from pydplib.web.analyses.question_form.trials import TrialTable
    from pydplib.web.auditlog.log import Log
    from pydplib.web.intake.models import Snapshot
    from pydplib.web.people.models import Hospital, User
    from pydplib.web.projects.models import Member, Project
    from pydplib.web.projects.policy.fields import Field

P = ParamSpec("P")
R = TypeVar("R")


class Hook(Generic[P, R]):
    """A question whose answers come from apps above.

    Examples:
        >>> double: Hook[[int], int] = Hook()
        >>> @double.register
        ... def twice(number: int) -> int:
        ...     return 2 * number
        >>> double(21)
        [42]
    """

    def __init__(self) -> None:
        self._answers: list[Callable[P, R]] = []

    def register(self, answer: Callable[P, R]) -> Callable[P, R]:
        """Add a function that answers; a decorator."""
        self._answers.append(answer)
        return answer

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> list[R]:
        """Return all answers."""
        return [answer(*args, **kwargs) for answer in self._answers]


class PlatformApp(AppConfig):
    """An app of the platform: imports the modules that register something as soon as Django has all models.

    Write ``class PeopleConfig(hooks.PlatformApp)``: Django takes the one configuration that ``apps.py`` names, and
    would take none if this one were there as well.
    """

    registers: ClassVar[tuple[str, ...]] = ()
    """Modules of the app that register hooks, signal receivers or system checks."""

    def ready(self) -> None:
        """Import them."""
        for module in self.registers:
            import_module(f"{self.name}.{module}")


user_disabled: Hook[[User, Log], int] = Hook()
"""A user was disabled, in the transaction of the log; how many tokens end with it."""

account_page: Hook[[User], dict[str, object]] = Hook()
"""What else a user's account page shows: values for its template."""

hospital_page: Hook[[Hospital], dict[str, object]] = Hook()
"""What else the page of a hospital shows: values for its template."""

project_created: Hook[[Project, User, str, Log], None] = Hook()
"""A project was made, with the name of the built-in template to begin with, in the transaction of the log."""

more_fields: Hook[[Project], Sequence[Field]] = Hook()
"""The fields of a project that its template does not have: of further tables, and computed columns."""

snapshot_published: Hook[[Project, Snapshot, User], int] = Hook()
"""A snapshot with numbers for sale was published; how many budgets could not pay for them."""

trial_tables: Hook[[Project, User, Member, list[str]], Sequence[TrialTable]] = Hook()
"""Tables that an organisation has bought and that have these columns: questions can be tried on them for nothing."""

purchase_of: Hook[[str], object | None] = Hook()
"""The first purchase with a receipt that an app above keeps under the key of a release; none for most."""
