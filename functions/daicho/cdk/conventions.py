"""What all constructs share: CDK's feature flags, names of log groups, acknowledged findings.

The flags are those that this package is tested with. They are set for Daicho alone: so its
template does not depend on the flags of the app that it is in, nor does it change theirs. They are
those that ``cdk init`` recommends for this version of the CDK, for the services that Daicho uses.
"""

from __future__ import annotations

from collections.abc import Mapping

from aws_cdk import Acknowledgment, Aws, Fn, Validations
from constructs import Construct, IConstruct

FEATURE_FLAGS: Mapping[str, bool | str | list[str]] = {
    "@aws-cdk/aws-cloudwatch-actions:changeLambdaPermissionLogicalIdForLambdaAction": True,
    "@aws-cdk/aws-dynamodb:resourcePolicyPerReplica": True,
    "@aws-cdk/aws-dynamodb:retainTableReplica": True,
    "@aws-cdk/aws-iam:importedRoleStackSafeDefaultPolicyName": True,
    "@aws-cdk/aws-iam:minimizePolicies": True,
    "@aws-cdk/aws-kms:aliasNameRef": True,
    "@aws-cdk/aws-kms:applyImportedAliasPermissionsToPrincipal": True,
    "@aws-cdk/aws-kms:reduceCrossAccountRegionPolicyScope": True,
    "@aws-cdk/aws-lambda:createNewPoliciesWithAddToRolePolicy": False,
    "@aws-cdk/aws-lambda:recognizeLayerVersion": True,
    "@aws-cdk/aws-lambda:useCdkManagedLogGroup": True,
    "@aws-cdk/aws-s3:createDefaultLoggingPolicy": True,
    "@aws-cdk/aws-s3:publicAccessBlockedByDefault": True,
    "@aws-cdk/aws-s3:serverAccessLogsUseBucketPolicy": True,
    "@aws-cdk/aws-s3:setUniqueReplicationRoleName": True,
    "@aws-cdk/aws-sns-subscriptions:restrictSqsDescryption": True,
    "@aws-cdk/core:annotationsInValidationReport": True,
    "@aws-cdk/core:aspectPrioritiesMutating": True,
    "@aws-cdk/core:checkSecretUsage": True,
    "@aws-cdk/core:defaultCrossStackReferences": "weak",
    "@aws-cdk/core:enableAdditionalMetadataCollection": True,
    "@aws-cdk/core:enablePartitionLiterals": True,
    "@aws-cdk/core:explicitStackTags": True,
    "@aws-cdk/core:includePrefixInUniqueNameGeneration": True,
    "@aws-cdk/core:target-partitions": ["aws", "aws-cn"],
    "@aws-cdk/core:validateAgainstDefaultRules": True,
    "@aws-cdk/core:validateSnapshotRemovalPolicy": True,
}


def set_feature_flags(scope: Construct) -> None:
    """Set the flags for what will be created in ``scope``, which must still be empty."""
    for name, value in FEATURE_FLAGS.items():
        scope.node.set_context(name, value)


def name_log_group(service: str, name: str) -> str:
    """The name of a log group, which ends with the stack's id: ``/aws/vendedlogs/states/Shop-…``.

    The prefix keeps the account's resource policy for log delivery short: each group with another
    name is added to it, up to 5,120 characters (Amazon CloudWatch Logs User Guide, "Enable logging
    from AWS services"). The id differs between two creations of a stack. So a log group
    that outlived its stack, at stages that retain logs, does not prevent the next creation.
    """
    return f"/aws/vendedlogs/{service}/{name}-{Fn.select(2, Fn.split('/', Aws.STACK_ID))}"


def suppress_finding(construct: IConstruct, *, rule: str, reason: str) -> None:
    """Acknowledge one finding, and only that one.

    ``rule`` is the rule's short name, with the finding in brackets where a rule has several:
    ``IAM5[Resource::*]``.
    """
    id = f"AwsSolutions::AwsSolutions-{rule}"
    Validations.of(construct).acknowledge(Acknowledgment(id=id, reason=reason))
