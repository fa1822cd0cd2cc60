"""The customer-managed key, for stages that require one."""

from __future__ import annotations

from aws_cdk import aws_kms as kms
from constructs import Construct

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
