"""The stores: the table with its indexes, the buckets, and the key that encrypts them."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from daicho.cdk.context_options import STREAM_ARN
from daicho.cdk.settings import Settings


def build_key(scope: Construct, *, settings: Settings) -> kms.Key | None:
    """One key for the table and the buckets, rotated yearly; ``None`` leaves it to AWS."""
    if not settings.customer_managed_key:
        return None
    return kms.Key(
        scope,
        "Key",
        description=f"{settings.title}: table and buckets",
        enable_key_rotation=True,
        removal_policy=settings.removal_policy,
    )


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


class DaichoTable(Construct):
    """One Region by design: a `TableV2` without replicas.

    Sequence numbers of different Regions cannot be compared, and a replica cannot tell TTL
    deletions from others (ADR 0188). Or a restored table, if the stage's own was lost (ADR 0189).
    """

    def __init__(
        self, scope: Construct, id: str, *, settings: Settings, key: kms.IKey | None
    ) -> None:
        """Create the table; ``key`` encrypts it, if a key is given."""
        super().__init__(scope, id)
        self.table: dynamodb.ITableV2
        if settings.table_stream:
            self.table = self._find_restored(settings.table_stream, key)
            return
        of_table = _warm(*WARM_TABLE) if settings.warm_throughput else None
        of_index = _warm(*WARM_INDEX) if settings.warm_throughput else None
        indexes = [
            _index("GSI1", of_index),
            _index("GSI2", of_index, ["copy"]),
            _index("GSI3", of_index, ["total"]),
        ]
        table = self.table = dynamodb.TableV2(
            self,
            "Table",
            partition_key=_key("PK"),
            sort_key=_key("SK"),
            billing=dynamodb.Billing.on_demand(),
            time_to_live_attribute="ttl",
            dynamo_stream=dynamodb.StreamViewType.NEW_AND_OLD_IMAGES,
            point_in_time_recovery_specification=dynamodb.PointInTimeRecoverySpecification(
                point_in_time_recovery_enabled=settings.recovery_days is not None,
                recovery_period_in_days=settings.recovery_days,
            ),
            deletion_protection=settings.retain,
            removal_policy=settings.removal_policy,
            warm_throughput=of_table,
            global_secondary_indexes=indexes,
        )
        if key:
            self._encrypt(table, key)

    def _find_restored(self, stream: str, key: kms.IKey | None) -> dynamodb.ITableV2:
        """A table that DynamoDB restored, and that no stack has: its settings are its own."""
        arn = STREAM_ARN.fullmatch(stream)
        assert arn is not None  # noqa: S101  # the settings are checked
        return dynamodb.TableV2.from_table_attributes(
            self, "Restored", table_arn=arn["table"], table_stream_arn=stream, encryption_key=key
        )

    def _encrypt(self, table: dynamodb.TableV2, key: kms.IKey) -> None:
        """Encrypt the table with a key.

        The construct's own option refuses a stack whose Region is known at the deployment only.
        """
        resource = table.node.default_child
        assert isinstance(resource, dynamodb.CfnGlobalTable)  # noqa: S101
        encryption = {"SSEEnabled": True, "SSEType": "KMS"}
        resource.add_property_override("SSESpecification", encryption)
        resource.add_property_override("Replicas.0.SSESpecification.KMSMasterKeyId", key.key_arn)


def _index(
    name: str,
    warm: dynamodb.WarmThroughput | None,
    attributes: list[str] | None = None,
) -> dynamodb.GlobalSecondaryIndexPropsV2:
    """An index of all attributes, or of the keys and a few ``attributes``."""
    kinds = dynamodb.ProjectionType
    return dynamodb.GlobalSecondaryIndexPropsV2(
        index_name=name,
        partition_key=_key(f"{name}PK"),
        sort_key=_key(f"{name}SK"),
        projection_type=kinds.INCLUDE if attributes else kinds.ALL,
        non_key_attributes=attributes,
        warm_throughput=warm,
    )


DISCARDED = "Discarded"  # the request metrics' filter: objects that Lambda writes
DISCARDED_PREFIX = "aws/lambda/"
DONE_PREFIX = "done/"
DONE_DAYS = 90
VERIFY_PREFIX = "verify/"
VERIFY_DAYS = 30
"""Days that the findings of a verification are kept."""
JOURNAL_PREFIX, JOURNAL_DAYS = "journal/", 4
"""What a verification writes, which is over after two days (rule 36)."""
GLACIER_DAYS = 90
"""Days until an archived object gets a cheaper class, which queries read at once too."""
ANSWER_DAYS = 7
"""Days that the result of a query is kept."""


class StackBuckets(Construct):
    """Encrypted, versioned, closed to the public, over TLS only; the local AWS has no TLS.

    A bucket that is not empty is not removed with its stack, at any stage.
    """

    def __init__(
        self, scope: Construct, id: str, *, settings: Settings, key: kms.IKey | None
    ) -> None:
        """Create all four, and one for their access logs where the stage keeps any."""
        super().__init__(scope, id)
        self._settings, self._key = settings, key
        self._access_logs: s3.Bucket | None = None
        if not settings.is_local:
            self._access_logs = self._create_access_logs()
        self.archive = self._create_archive()
        # Nothing in it expires but what was applied, and what verifications wrote.
        self.failures = self._bucket(
            "Failures",
            rules=[
                s3.LifecycleRule(
                    id="done", prefix=DONE_PREFIX, expiration=Duration.days(DONE_DAYS)
                ),
                s3.LifecycleRule(
                    id="verify",
                    prefix=VERIFY_PREFIX,
                    expiration=Duration.days(VERIFY_DAYS),
                    noncurrent_version_expiration=Duration.days(1),
                ),
                s3.LifecycleRule(
                    id="journal",
                    prefix=JOURNAL_PREFIX,
                    expiration=Duration.days(JOURNAL_DAYS),
                    noncurrent_version_expiration=Duration.days(1),
                ),
                _leftovers(),
            ],
            metrics=[s3.BucketMetrics(id=DISCARDED, prefix=DISCARDED_PREFIX)],
        )
        # Answers to queries hold tenants' data like the archive, and can be asked for again.
        self.results = self._bucket(
            "Results",
            rules=[
                s3.LifecycleRule(id="answers", expiration=Duration.days(ANSWER_DAYS)),
                _leftovers(older_versions=1),
            ],
        )
        self.objects = self._create_objects()

    def _create_archive(self) -> s3.Bucket:
        # It is read at once in every class that it may come to be in: a query that passed over
        # what is frozen would be wrong without saying so.
        return self._bucket(
            "Archive",
            rules=[
                s3.LifecycleRule(
                    id="glacier",
                    transitions=[
                        s3.Transition(
                            storage_class=s3.StorageClass.GLACIER_INSTANT_RETRIEVAL,
                            transition_after=Duration.days(GLACIER_DAYS),
                        )
                    ],
                ),
                _leftovers(),
            ],
        )

    def _create_objects(self) -> s3.Bucket:
        # The library removes every version of an object that it deletes. Other versions are what
        # somebody else has overwritten or deleted by mistake. Browsers put and get here by URLs
        # that the API signs, from the origins that the stage names.
        return self._bucket(
            "Objects",
            rules=[_leftovers()],
            cors=[
                s3.CorsRule(
                    allowed_origins=list(self._settings.cors_origins),
                    allowed_methods=[s3.HttpMethods.GET, s3.HttpMethods.PUT],
                    allowed_headers=["content-type", "if-none-match"],
                    exposed_headers=["ETag"],
                    max_age=3600,
                )
            ]
            if self._settings.cors_origins
            else None,
        )

    def _bucket(
        self,
        id: str,
        *,
        rules: list[s3.LifecycleRule],
        metrics: list[s3.BucketMetrics] | None = None,
        cors: list[s3.CorsRule] | None = None,
        has_own_encryption: bool = False,
    ) -> s3.Bucket:
        """A bucket; ``has_own_encryption``: that of S3, whatever encrypts the others."""
        key = None if has_own_encryption else self._key
        return s3.Bucket(
            self,
            id,
            encryption=s3.BucketEncryption.KMS if key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=key,
            bucket_key_enabled=True if key else None,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=not self._settings.is_local,
            minimum_tls_version=None if self._settings.is_local else 1.2,
            versioned=True,
            lifecycle_rules=rules,
            metrics=metrics,
            cors=cors,
            server_access_logs_bucket=self._access_logs,
            server_access_logs_prefix=f"{id.lower()}/" if self._access_logs else None,
            removal_policy=self._settings.rollback_removal_policy,
        )

    def _create_access_logs(self) -> s3.Bucket:
        # Server access logs can be delivered to a bucket with S3's own encryption only.
        return self._bucket(
            "AccessLogs",
            rules=[
                s3.LifecycleRule(id="expire", expiration=Duration.days(self._settings.log_days)),
                # A log that expires becomes an older version first. It names addresses.
                _leftovers(older_versions=1),
            ],
            has_own_encryption=True,
        )


def _leftovers(*, older_versions: int = 30) -> s3.LifecycleRule:
    """What nobody needs any more; older versions after so many days."""
    return s3.LifecycleRule(
        id="leftovers",
        abort_incomplete_multipart_upload_after=Duration.days(7),
        noncurrent_version_expiration=Duration.days(older_versions),
    )
