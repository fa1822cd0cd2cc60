"""A stack with a ledger, and the ledger's names as outputs."""

from __future__ import annotations

from typing import Any

from aws_cdk import CfnOutput, Environment, Stack
from constructs import Construct

from daicho import plan
from daicho.cdk.feature_flags import set_feature_flags
from daicho.cdk.ledger import Ledger
from daicho.cdk.settings import Settings
from daicho.project import Project


class DaichoStack(Stack):
    """``<project>-<stage>``: one table and all that keeps its derived state right."""

    def __init__(
        self,
        scope: Construct,
        id: str | None = None,
        *,
        project: Project,
        settings: Settings,
        generations: plan.Ledger | None = None,
        **properties: Any,
    ) -> None:
        """Create the stack of one stage; ``properties``: other properties of a stack.

        Raises:
            ProjectError, DeclarationError, SettingsError: see `Ledger`.
        """
        described = f"{project.name}: one DynamoDB table, and everything derived from it kept exact"
        defaults = {
            "env": Environment(account=settings.account, region=settings.region),
            "description": described,
            "termination_protection": settings.retain,
        }
        super().__init__(
            scope, id or f"{project.name}-{settings.stage}", **{**defaults, **properties}
        )
        # Some flags are read at the stack only.
        set_feature_flags(self)
        # "Default" is no part of logical IDs: those of a ledger do not name it.
        self.ledger = Ledger(
            self, "Default", project=project, settings=settings, generations=generations
        )
        for name, value in self.ledger.outputs.items():
            CfnOutput(self, name, value=value)
