"""The rollup: each minute, what is dirty becomes totals."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from infra import grants
from infra.functions import Foundation, PythonFunction
from infra.schedule import schedule


class Rollup(Construct):
    """A run that fails or is late is not repeated: the next minute's does its work.

    Two runs at once are harmless (totals are written by revision), so no concurrency is reserved
    for it out of the account's quota.
    """

    def __init__(self, scope: Construct, id: str, *, foundation: Foundation) -> None:
        """Create the function and its schedule."""
        super().__init__(scope, id)
        settings = foundation.settings
        self.python = PythonFunction(
            self,
            "Rollup",
            name="rollup",
            foundation=foundation,
            granted=grants.ROLLUP,
            timeout=Duration.seconds(60),
            environment={"DIRTY_SHARDS": str(settings.dirty_shards)},
        )
        schedule(self, python=self.python, name="rollup", rate=Duration.minutes(1))
