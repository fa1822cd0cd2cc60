"""The stack: composes the constructs, and has their names as outputs."""

from __future__ import annotations

from aws_cdk import CfnOutput, Environment, Stack, Validations
from cdk_nag import AwsSolutionsChecks
from constructs import Construct

from daicho.plan import Ledger
from infra.api import Api
from infra.archive import build_archiver
from infra.archive_catalog import ArchiveCatalog
from infra.auth import Auth
from infra.buckets import Buckets
from infra.functions import SharedResources, build_layer, bundle_functions
from infra.jobs import Jobs
from infra.key import build_key
from infra.observability import Observability
from infra.projector import build_projector
from infra.redrive import Redrive
from infra.scheduled_function import RECURRING, ScheduledFunction
from infra.settings import Settings
from infra.table import LedgerTable


class DaichoStack(Stack):
    """``Daicho-<stage>``: one table and all that keeps its derived state right."""

    def __init__(self, scope: Construct, *, settings: Settings, ledger: Ledger) -> None:
        """Compose the stack of one stage. The event filters are computed from ``ledger``."""
        super().__init__(
            scope,
            f"Daicho-{settings.stage}",
            env=Environment(account=settings.account, region=settings.region),
            description="Daicho: one DynamoDB table, and everything derived from it kept exact",
            termination_protection=settings.deletion_protection,
        )
        key = build_key(self, settings=settings)
        table = LedgerTable(self, "Table", settings=settings, key=key).table
        buckets = Buckets(self, "Buckets", settings=settings, key=key)
        shared = SharedResources(
            settings=settings,
            code=bundle_functions(),
            layer=build_layer(self, settings=settings),
            table=table,
            archive=buckets.archive,
            failures=buckets.failures,
            objects=buckets.objects,
            key=key,
        )
        auth = Auth(self, "Auth", settings=settings)

        jobs = Jobs(self, "Jobs", shared=shared)
        api = Api(self, "Api", auth=auth, machine=jobs.machine.attr_arn, shared=shared)
        projector = build_projector(self, ledger=ledger, shared=shared)
        archiver = build_archiver(self, ledger=ledger, shared=shared)
        scheduled = [
            ScheduledFunction(self, props.name.capitalize(), recurring=props, shared=shared).python
            for props in RECURRING
        ]
        catalog = ArchiveCatalog(
            self,
            "Catalog",
            settings=settings,
            ledger=ledger,
            archive=buckets.archive,
            results=buckets.results,
            key=key,
        )
        redrive = Redrive(
            self,
            "Redrive",
            shared=shared,
            projector=projector.python.function,
            archiver=archiver.python.function,
        )
        # CloudFormation updates the stream consumers before the API. Otherwise an item that the new
        # API writes could reach an old consumer, which cannot process it, or an old event filter,
        # which drops its record; a dropped record is not delivered again.
        api.python.function.node.add_dependency(projector, archiver)
        consumers = (projector.python, archiver.python)
        functions = {
            python.name: python.function
            for python in (api.python, *consumers, redrive.python, jobs.python, *scheduled)
        }
        Observability(
            self,
            "Observability",
            settings=settings,
            functions=functions,
            table=table,
            failures=buckets.failures,
            api=api.http,
            machine=jobs.machine.attr_arn,
        )
        outputs = {
            "ApiUrl": api.url,
            "TableName": table.table_name,
            "ArchiveBucketName": buckets.archive.bucket_name,
            "ArchiveDatabaseName": catalog.database_name,
            "ArchiveTableName": catalog.table_name,
            "ArchiveWorkgroupName": catalog.workgroup_name,
            "FailureBucketName": buckets.failures.bucket_name,
            "ObjectsBucketName": buckets.objects.bucket_name,
            "UserPoolId": auth.pool.user_pool_id,
            "UserPoolClientId": auth.client.user_pool_client_id,
            **{
                f"{name.capitalize()}FunctionName": function.function_name
                for name, function in functions.items()
            },
        }
        for name, value in outputs.items():
            CfnOutput(self, name, value=value)
        # These rules are for real accounts: the local stack has neither TLS, keys nor replicas.
        if settings.stage != "local":
            Validations.of(self).add_plugins(AwsSolutionsChecks(self))
