"""The audit: once a day the archive of the last days is verified."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from infra import grants
from infra.functions import Foundation, PythonFunction
from infra.schedule import schedule

# An hour after the other, as many runs as a day's round takes; the others find it done, and say
# what it has found. So nothing waits a day for a run that was lost.
RATE = Duration.hours(1)


class Audit(Construct):
    """Nothing else calls it, but whoever wants the day's round anew: ``{"again": true}``."""

    def __init__(self, scope: Construct, id: str, *, foundation: Foundation) -> None:
        """Create the function and its schedule."""
        super().__init__(scope, id)
        self.python = PythonFunction(
            self,
            "Audit",
            name="audit",
            foundation=foundation,
            granted=grants.AUDIT,
            timeout=Duration.minutes(15),
            environment={"ARCHIVE_BUCKET": foundation.archive.bucket_name},
        )
        schedule(self, python=self.python, name="audit", rate=RATE)
