"""The buckets: versions, encryption, lifecycle, CORS, public access, ownership and policy."""

from __future__ import annotations

from daicho_cli.smoke.settings.readings import Reading, Setting

_ENCRYPTION = "ServerSideEncryptionConfiguration"
_CORS_WANTED = (
    "{origins: sorted(AllowedOrigins), methods: sorted(AllowedMethods), "
    "headers: sorted(AllowedHeaders), exposed: sorted(ExposedHeaders), age: MaxAge}"
)
_CORS_FOUND = (
    "{origins: sorted(AllowedOrigins), methods: sorted(AllowedMethods), "
    "headers: sorted(AllowedHeaders), exposed: sorted(ExposeHeaders), age: MaxAgeSeconds}"
)
_RULE_WANTED = (
    "{id: Id, status: Status, prefix: Prefix || '', days: ExpirationInDays, "
    "older: NoncurrentVersionExpiration.NoncurrentDays || NoncurrentVersionExpirationInDays, "
    "uploads: AbortIncompleteMultipartUpload.DaysAfterInitiation, "
    "classes: sorted(Transitions[].{days: TransitionInDays, class: StorageClass})}"
)
_RULE_FOUND = (
    "{id: ID, status: Status, prefix: Filter.Prefix || Prefix || '', days: Expiration.Days, "
    "older: NoncurrentVersionExpiration.NoncurrentDays, "
    "uploads: AbortIncompleteMultipartUpload.DaysAfterInitiation, "
    "classes: sorted(Transitions[].{days: Days, class: StorageClass})}"
)
_BUCKET = {"Bucket": "id"}


def _read(operation: str, *settings: Setting, absent: str = "") -> Reading:
    return Reading("s3", operation, _BUCKET, settings, (absent,) if absent else ())


READINGS_BY_TYPE = {
    "AWS::S3::Bucket": (
        _read(
            "get_bucket_versioning",
            Setting(
                "versions",
                "properties.VersioningConfiguration.Status || 'off'",
                "Status || 'off'",
            ),
        ),
        _read(
            "get_public_access_block",
            Setting(
                "block of public access",
                "properties.PublicAccessBlockConfiguration",
                "PublicAccessBlockConfiguration || 'none'",
            ),
            absent="NoSuchPublicAccessBlockConfiguration",
        ),
        _read(
            "get_bucket_encryption",
            Setting(
                "encryption",
                f"properties.BucketEncryption.{_ENCRYPTION}[0].ServerSideEncryptionByDefault"
                ".SSEAlgorithm",
                f"{_ENCRYPTION}.Rules[0].ApplyServerSideEncryptionByDefault.SSEAlgorithm || 'none'",
            ),
            Setting(
                "key of the encryption",
                f"properties.BucketEncryption.{_ENCRYPTION}[0].ServerSideEncryptionByDefault"
                ".KMSMasterKeyID",
                f"{_ENCRYPTION}.Rules[0].ApplyServerSideEncryptionByDefault.KMSMasterKeyID",
            ),
            absent="ServerSideEncryptionConfigurationNotFoundError",
        ),
        _read(
            "get_bucket_lifecycle_configuration",
            Setting(
                "lifecycle",
                f"sorted(properties.LifecycleConfiguration.Rules[].{_RULE_WANTED})",
                f"sorted(Rules[].{_RULE_FOUND})",
            ),
            absent="NoSuchLifecycleConfiguration",
        ),
        _read(
            "get_bucket_cors",
            Setting(
                "CORS",
                f"sorted(properties.CorsConfiguration.CorsRules[].{_CORS_WANTED}) || 'none'",
                f"sorted(CORSRules[].{_CORS_FOUND}) || 'none'",
            ),
            absent="NoSuchCORSConfiguration",
        ),
        _read(
            "get_bucket_ownership_controls",
            Setting(
                "object ownership",
                "properties.OwnershipControls.Rules[0].ObjectOwnership",
                "OwnershipControls.Rules[0].ObjectOwnership || 'none'",
            ),
            absent="OwnershipControlsNotFoundError",
        ),
        _read(
            "get_bucket_logging",
            Setting(
                "access logs",
                "properties.LoggingConfiguration.DestinationBucketName || 'none'",
                "LoggingEnabled.TargetBucket || 'none'",
            ),
        ),
    ),
    "AWS::S3::BucketPolicy": (
        Reading(
            "s3",
            "get_bucket_policy",
            {"Bucket": "properties.Bucket"},
            (
                Setting(
                    "policy",
                    "statements(properties.PolicyDocument)",
                    "statements(Policy) || 'none'",
                ),
            ),
            absent=("NoSuchBucketPolicy",),
        ),
    ),
}
