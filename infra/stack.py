"""The stack of this repository: the library's, checked by cdk-nag, without the demonstration."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from importlib.util import find_spec

from aws_cdk import App, Validations

from daicho import plan
from daicho.cdk import DaichoStack, Project, Settings, SettingsError

PRODUCTION = "prod"
FLAG = "demonstration"
"""The context variable that lets the demonstration be deployed to production."""


def build_stack(
    app: App, *, project: Project, settings: Settings, generations: plan.Ledger | None = None
) -> DaichoStack:
    """The stack of one stage in ``app``; ``generations``: see `daicho.cdk.Daicho`.

    Raises:
        SettingsError: the demonstration would be deployed to production without the flag.
        ProjectError, DeclarationError: see `DaichoStack`.
    """
    if settings.stage == PRODUCTION and generations is None:
        check_demonstration(
            (domain.name for domain in project.discover().domains),
            allowed=app.node.try_get_context(FLAG) in (True, "true"),
        )
    stack = DaichoStack(app, project=project, settings=settings, generations=generations)
    # These rules are for real accounts: the local stack has neither TLS, keys nor replicas.
    if settings.stage != "local":
        from cdk_nag import AwsSolutionsChecks  # noqa: PLC0415  # to load it takes seconds

        Validations.of(stack).add_plugins(AwsSolutionsChecks(stack))
    return stack


def check_demonstration(domains: Iterable[str], *, allowed: bool) -> None:
    """Check that no system of the demonstration is among ``domains``, unless it is allowed.

    Raises:
        SettingsError: one is.
    """
    shown = sorted(set(domains) & _list_demonstration())
    if shown and not allowed:
        raise SettingsError(
            f"the demonstration ({', '.join(shown)}) would be deployed to production; start a "
            "project of your own (daicho init NAME), remove it (python -m demonstration.remove .), "
            f"or pass -c {FLAG}=true"
        )


def _list_demonstration() -> set[str]:
    """The systems of the demonstration; none where it has been removed."""
    if find_spec("demonstration") is None:
        return set()
    return set(import_module("demonstration").SYSTEMS)
