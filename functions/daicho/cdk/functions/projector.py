"""The projector: derived items and aggregates."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import SharedResources
from daicho.cdk.functions.stream_consumer import BatchLimits, StreamConsumer
from daicho.plan import Ledger
from daicho.plan.event_filters import project_filters

# A batch is folded, so a large one is cheap: the writes grow with the groups, not the records.
# 1,000 records are about 2 MB of the 6 MB that an invocation takes, and even 20 writes for each
# stay far within the timeout. While one batch is processed the next one fills by itself; the
# stage's batching window makes the batches of a quiet table larger, and its searches older.
BATCH = 1000


def build_projector(scope: Construct, *, ledger: Ledger, shared: SharedResources) -> StreamConsumer:
    """The stream consumer that receives the records of all entities that derive something."""
    settings = shared.settings
    return StreamConsumer(
        scope,
        "Projector",
        name="project",
        shared=shared,
        permissions=grants.PROJECT,
        environment={
            "DIRTY_SHARDS": str(settings.dirty_shards),
            "FAILURE_BUCKET": shared.failures.bucket_name,
            **({"FAULTS": str(settings.faults)} if settings.faults else {}),
        },
        patterns=project_filters(ledger.derived_types),
        batches=BatchLimits(BATCH, Duration.seconds(settings.project_window_seconds)),
    )
