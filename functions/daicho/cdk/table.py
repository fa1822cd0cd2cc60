"""The table, with its three sparse indexes, its optional replica, and its stream."""

from __future__ import annotations

from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from constructs import Construct

from daicho.cdk.settings import Settings

STRING = dynamodb.AttributeType.STRING


def _key(name: str) -> dynamodb.Attribute:
    return dynamodb.Attribute(name=name, type=STRING)


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
        warm = settings.warm
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
            deletion_protection=settings.deletion_protection,
            removal_policy=settings.removal_policy,
            encryption=dynamodb.TableEncryption.CUSTOMER_MANAGED if key else None,
            encryption_key=key,
            warm_throughput=dynamodb.WarmThroughput(
                read_units_per_second=warm.table_reads, write_units_per_second=warm.table_writes
            )
            if warm
            else None,
        )
        self._index("GSI1", projection=dynamodb.ProjectionType.ALL)
        self._index(
            "GSI2",
            projection=dynamodb.ProjectionType.INCLUDE,
            attributes=["copy"],
            warm=dynamodb.WarmThroughput(
                read_units_per_second=warm.posting_reads,
                write_units_per_second=warm.posting_writes,
            )
            if warm
            else None,
        )
        self._index("GSI3", projection=dynamodb.ProjectionType.INCLUDE, attributes=["total"])
        if settings.replica_index:
            self._replica(settings)

    def _replica(self, settings: Settings) -> None:
        """A copy of the table as an index: its keys and all attributes, with a short delay.

        Its capacity must equal the capacity of the table, or the table's writes wait for it.
        Source: seed 002; "Using global secondary indexes to create an eventually consistent
        replica", Amazon DynamoDB Developer Guide.
        """
        warm = settings.warm
        self.table.add_global_secondary_index(
            index_name="Replica",
            partition_key=_key("PK"),
            sort_key=_key("SK"),
            projection_type=dynamodb.ProjectionType.ALL,
            warm_throughput=dynamodb.WarmThroughput(
                read_units_per_second=warm.table_reads, write_units_per_second=warm.table_writes
            )
            if warm
            else None,
        )

    def _index(
        self,
        name: str,
        *,
        projection: dynamodb.ProjectionType,
        attributes: list[str] | None = None,
        warm: dynamodb.WarmThroughput | None = None,
    ) -> None:
        self.table.add_global_secondary_index(
            index_name=name,
            partition_key=_key(f"{name}PK"),
            sort_key=_key(f"{name}SK"),
            projection_type=projection,
            non_key_attributes=attributes,
            warm_throughput=warm,
        )
