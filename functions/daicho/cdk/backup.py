"""Copies of the stores in another Region: a backup each day, and its copy (ADR 0190)."""

from __future__ import annotations

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_backup as backup
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_events as events
from aws_cdk import aws_iam as iam
from constructs import Construct

from daicho.cdk.conventions import suppress_finding
from daicho.cdk.settings import Settings
from daicho.cdk.stores import StackBuckets

SOURCE_DAYS, COPY_DAYS = 2, 7
"""Days that a backup is kept in the stage's own Region, and its copy in the other one.

Point-in-time recovery serves the own Region. Each backup of a table is a whole one.
"""
POLICIES = (
    "service-role/AWSBackupServiceRolePolicyForBackup",
    "AWSBackupServiceRolePolicyForS3Backup",
)


class RegionBackup(Construct):
    """Backs up table, archive and objects once a day, and copies them to a vault elsewhere."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        settings: Settings,
        table: dynamodb.ITableV2,
        buckets: StackBuckets,
    ) -> None:
        """The settings name the vault in the other Region."""
        super().__init__(scope, id)
        own = backup.BackupVault(
            self, "Vault", removal_policy=RemovalPolicy.RETAIN if settings.retain else None
        )
        other = backup.BackupVault.from_backup_vault_arn(self, "Other", str(settings.backup_vault))
        copied = backup.BackupPlanCopyActionProps(
            destination_backup_vault=other, delete_after=Duration.days(COPY_DAYS)
        )
        plan = backup.BackupPlan(self, "Plan", backup_vault=own)
        plan.add_rule(
            backup.BackupPlanRule(
                rule_name="daily",
                schedule_expression=events.Schedule.cron(hour="3", minute="0"),
                delete_after=Duration.days(SOURCE_DAYS),
                copy_actions=[copied],
            )
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("backup.amazonaws.com"),
            description=f"{settings.title}: backups",
            managed_policies=[
                iam.ManagedPolicy.from_aws_managed_policy_name(name) for name in POLICIES
            ],
        )
        for name in POLICIES:
            suppress_finding(
                role,
                rule=f"IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]",
                reason="AWS keeps these policies in line with what its backups need.",
            )
        arns = (table.table_arn, buckets.archive.bucket_arn, buckets.objects.bucket_arn)
        plan.add_selection(
            "Stores",
            role=role,
            disable_default_backup_policy=True,
            resources=[backup.BackupResource.from_arn(arn) for arn in arns],
        )
