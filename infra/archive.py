"""The archive: items that TTL has removed, written to S3."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from daicho.plan import Ledger
from infra import grants
from infra.filters import archive_filters
from infra.functions import PythonFunction, SharedResources
from infra.stream_consumer import TIMEOUT, add_stream_consumer

# Each batch becomes one object for each entity, and objects are read whole: the largest batch
# that Lambda forms, and as long to fill it as the stage allows. Nobody waits for an archive.
BATCH = 10_000


class Archive(Construct):
    """The second of the two stream consumers."""

    def __init__(
        self, scope: Construct, id: str, *, ledger: Ledger, foundation: SharedResources
    ) -> None:
        """Create the function and its mapping."""
        super().__init__(scope, id)
        settings = foundation.settings
        self.python = PythonFunction(
            self,
            "Archive",
            name="archive",
            foundation=foundation,
            granted=grants.ARCHIVE,
            timeout=TIMEOUT,
            environment={
                "ARCHIVE_BUCKET": foundation.archive.bucket_name,
                "EMULATED_STREAM": str(settings.emulated_stream).lower(),
            },
        )
        add_stream_consumer(
            self,
            function=self.python,
            foundation=foundation,
            patterns=archive_filters(ledger.archived_types, emulated=settings.emulated_stream),
            batch_size=BATCH,
            gather=Duration.seconds(settings.archive_window_seconds),
        )
