"""The buckets: expired items, answers to queries, failed stream records, objects, access logs."""

from __future__ import annotations

from aws_cdk import Duration
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3
from constructs import Construct

from daicho.cdk.settings import Settings

DISCARDED = "Discarded"  # the request metrics' filter: objects that Lambda writes
DISCARDED_PREFIX = "aws/lambda/"
DONE_PREFIX = "done/"
DONE_DAYS = 90
GLACIER_DAYS = 90
"""Days until an archived object gets a cheaper class, which queries read at once too."""
ANSWER_DAYS = 7
"""Days that the result of a query is kept."""


class Buckets(Construct):
    """Encrypted, versioned, closed to the public, over TLS only; the local AWS has no TLS.

    A bucket that is not empty is not removed with its stack, at any stage.
    """

    def __init__(
        self, scope: Construct, id: str, *, settings: Settings, key: kms.IKey | None
    ) -> None:
        """Create all four, and one for their access logs where the stage keeps any."""
        super().__init__(scope, id)
        self._settings = settings
        self._key = key
        self._access_logs = None if settings.is_local else self._log_bucket()
        # It is read at once in every class that it may come to be in: a query that passed over
        # what is frozen would be wrong without saying so.
        self.archive = self._bucket(
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
        # Nothing in it expires but what was applied: all else waits until it has been.
        self.failures = self._bucket(
            "Failures",
            rules=[
                s3.LifecycleRule(
                    id="done", prefix=DONE_PREFIX, expiration=Duration.days(DONE_DAYS)
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

        # The library removes every version of an object that it deletes. Other versions are what
        # somebody else has overwritten or deleted by mistake. Browsers put and get here by URLs
        # that the API signs, from the origins that the stage names.
        self.objects = self._bucket(
            "Objects",
            rules=[_leftovers()],
            cors=[
                s3.CorsRule(
                    allowed_origins=list(settings.cors_origins),
                    allowed_methods=[s3.HttpMethods.GET, s3.HttpMethods.PUT],
                    allowed_headers=["content-type", "if-none-match"],
                    exposed_headers=["ETag"],
                    max_age=3600,
                )
            ]
            if settings.cors_origins
            else None,
        )

    def _bucket(
        self,
        id: str,
        *,
        rules: list[s3.LifecycleRule],
        metrics: list[s3.BucketMetrics] | None = None,
        cors: list[s3.CorsRule] | None = None,
    ) -> s3.Bucket:
        return s3.Bucket(
            self,
            id,
            encryption=s3.BucketEncryption.KMS if self._key else s3.BucketEncryption.S3_MANAGED,
            encryption_key=self._key,
            bucket_key_enabled=True if self._key else None,
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

    def _log_bucket(self) -> s3.Bucket:
        # Server access logs can be delivered to a bucket with S3's own encryption only.
        return s3.Bucket(
            self,
            "AccessLogs",
            encryption=s3.BucketEncryption.S3_MANAGED,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            enforce_ssl=not self._settings.is_local,
            minimum_tls_version=None if self._settings.is_local else 1.2,
            versioned=True,
            lifecycle_rules=[
                s3.LifecycleRule(id="expire", expiration=Duration.days(self._settings.log_days)),
                # A log that expires becomes an older version first. It names addresses.
                _leftovers(older_versions=1),
            ],
            removal_policy=self._settings.rollback_removal_policy,
        )


def _leftovers(*, older_versions: int = 30) -> s3.LifecycleRule:
    """What nobody needs any more; older versions after so many days."""
    return s3.LifecycleRule(
        id="leftovers",
        abort_incomplete_multipart_upload_after=Duration.days(7),
        noncurrent_version_expiration=Duration.days(older_versions),
    )
