"""The sweep: what requests that ended half-way have left behind goes."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from infra import grants
from infra.functions import Foundation, PythonFunction
from infra.schedule import schedule

RATE = Duration.minutes(5)


class Sweep(Construct):
    """Most of the time there is nothing to do: one query, half a read unit."""

    def __init__(self, scope: Construct, id: str, *, foundation: Foundation) -> None:
        """Create the function and its schedule."""
        super().__init__(scope, id)
        self.python = PythonFunction(
            self,
            "Sweep",
            name="sweep",
            foundation=foundation,
            granted=grants.SWEEP,
            timeout=Duration.seconds(120),
            environment={"OBJECT_BUCKET": foundation.objects.bucket_name},
        )
        schedule(self, python=self.python, name="sweep", rate=RATE)
