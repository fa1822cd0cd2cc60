"""The projector: derived items and aggregates."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from daicho.plan import Ledger
from infra import grants
from infra.filters import project_filters
from infra.functions import PythonFunction, SharedResources
from infra.stream_consumer import TIMEOUT, add_stream_consumer

# A batch is folded, so a large one is cheap: the writes grow with the groups, not the records.
# 1,000 records are about 2 MB of the 6 MB that an invocation takes, and even 20 writes for each
# stay far within the timeout. No gathering: while one batch runs the next one fills by itself,
# and a quiet table's searches follow at once.
BATCH = 1000
GATHER = Duration.seconds(0)


class Projector(Construct):
    """One of the two consumers that a stream shard allows."""

    def __init__(
        self, scope: Construct, id: str, *, ledger: Ledger, foundation: SharedResources
    ) -> None:
        """Create the function and its mapping."""
        super().__init__(scope, id)
        settings = foundation.settings
        self.python = PythonFunction(
            self,
            "Project",
            name="project",
            foundation=foundation,
            granted=grants.PROJECT,
            timeout=TIMEOUT,
            environment={
                "DIRTY_SHARDS": str(settings.dirty_shards),
                "FAILURE_BUCKET": foundation.failures.bucket_name,
                "EMULATED_STREAM": str(settings.emulated_stream).lower(),
                **({"FAULTS": str(settings.faults)} if settings.faults else {}),
            },
        )
        add_stream_consumer(
            self,
            function=self.python,
            foundation=foundation,
            patterns=project_filters(ledger.derived_types),
            batch_size=BATCH,
            gather=GATHER,
        )
