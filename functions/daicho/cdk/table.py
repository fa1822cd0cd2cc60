"""The table, with its three sparse indexes, its optional replica, and its stream."""

from __future__ import annotations

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from daicho.cdk.settings import Settings

STRING = dynamodb.AttributeType.STRING
WARM_TABLE = (24_000, 24_000)
"""Units a second that the table takes at once with the setting ``warm_throughput``: reads, writes.

20,000 votes a second, or the bulk load of contacts (800 a second with 18 postings each), from the
first minute on. An account's own quotas may have to be raised for both. Without the setting a new
on-demand table takes 12,000 reads and 4,000 writes a second, and so does each index.
"""
WARM_INDEX = (12_000, 16_000)
"""The same of each index: one that takes less than is written to it delays the table's writes."""


def _key(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=STRING)


def _warm(reads: int, writes: int) -> dynamodb.WarmThroughput:
    return dynamodb.WarmThroughput(read_units_per_second=reads, write_units_per_second=writes)


class LedgerTable(Construct):
    """One Region by design.

    Sequence numbers of different Regions cannot be compared, and a replica cannot tell TTL
    deletions from others, so this is a plain table and not a global one.
    """

    def __init__(
        self, scope: Construct, id: str, *, settings: Settings, key: kms.IKey | None
    ) -> None:
        """Create the table; ``key`` encrypts it, if a key is given."""
        super().__init__(scope, id)
        of_table = _warm(*WARM_TABLE) if settings.warm_throughput else None
        of_index = _warm(*WARM_INDEX) if settings.warm_throughput else None
        self.table = dynamodb.Table(
            self,
            "Table",
            partition_key=_key("PK"),
            sort_key=_key("SK"),
            billing_mode=dynamodb.BillingMode.PAY_PER_REQUEST,
            time_to_live_attribute="ttl",
            stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=settings.recovery_days is not None,
                recovery_period_in_days=settings.recovery_days,
            ),
            deletion_protection=settings.retain,
            removal_policy=settings.removal_policy,
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if key else None,
            encryption_key=key,
            warm_throughput=of_table,
        )
        self._index("GSI1", warm=of_index)
        self._index("GSI2", attributes=["copy"], warm=of_index)
        self._index("GSI3", attributes=["total"], warm=of_index)
        if settings.replica_index:
            self._replica(of_table)

    def _replica(self, warm: dynamodb.WarmThroughput | None) -> None:
        """A copy of the table as an index: its keys and all attributes, with a short delay.

        Its capacity must equal the capacity of the table, or the table's writes wait for it.
        Source: "Using global secondary indexes to create an eventually consistent replica", Amazon
        DynamoDB Developer Guide.
        """
        self.table.add_global_secondary_index(
            index_name="Replica",
            partition_key=_key("PK"),
            sort_key=_key("SK"),
            projection_type=dynamodb.ProjectionType.ALL,
            warm_throughput=warm,
        )

    def _index(
        self,
        name: str,
        *,
        attributes: list[str] | None = None,
        warm: dynamodb.WarmThroughput | None,
    ) -> None:
        """An index of all attributes, or of the keys and a few ``attributes``."""
        kinds = dynamodb.ProjectionType
        self.table.add_global_secondary_index(
            index_name=name,
            partition_key=_key(f"{name}PK"),
            sort_key=_key(f"{name}SK"),
            projection_type=kinds.INCLUDE if attributes else kinds.ALL,
            non_key_attributes=attributes,
            warm_throughput=warm,
        )
