"""The archive: items that TTL has removed, written to S3."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import SharedResources
from daicho.cdk.functions.stream_consumer import BatchLimits, StreamConsumer
from daicho.plan import Ledger
from daicho.plan.event_filters import archive_filters

# Each batch becomes one object for each entity, and objects are read whole. So a batch is as large
# as Lambda allows, and may wait to fill as long as the stage allows: nobody waits for an archive.
BATCH = 10_000


def build_archiver(scope: Construct, *, ledger: Ledger, shared: SharedResources) -> StreamConsumer:
    """The stream consumer that receives what TTL deletes of the archived entities."""
    settings = shared.settings
    return StreamConsumer(
        scope,
        "Archive",
        name="archive",
        shared=shared,
        permissions=grants.ARCHIVE,
        environment={"ARCHIVE_BUCKET": shared.archive.bucket_name},
        patterns=archive_filters(ledger.archived_types, emulated=settings.is_local),
        batches=BatchLimits(BATCH, Duration.seconds(settings.archive_window_seconds)),
    )
