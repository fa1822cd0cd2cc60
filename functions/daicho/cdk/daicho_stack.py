"""Daicho as a construct for any stack, and a stack that has it alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from aws_cdk import CfnOutput, Environment, Stack
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from daicho import plan
from daicho.cdk.api import Api, build_ops
from daicho.cdk.api_access import CognitoPool
from daicho.cdk.archive_catalog import ArchiveCatalog
from daicho.cdk.auth import Auth
from daicho.cdk.backup import RegionBackup
from daicho.cdk.conventions import set_feature_flags
from daicho.cdk.functions.events import (
    EventQueue,
    SubscriberPath,
    allow_sending,
    build_event_paths,
    to_camel,
)
from daicho.cdk.functions.jobs import Jobs, Redrive
from daicho.cdk.functions.python_function import (
    PythonFunction,
    SharedResources,
    build_layer,
    build_ledger_layer,
    bundle_functions,
)
from daicho.cdk.functions.release import Release
from daicho.cdk.functions.scheduled_function import RECURRING, build_scheduled_function
from daicho.cdk.functions.stream_consumer import StreamConsumer, build_archiver, build_projector
from daicho.cdk.functions.token_trigger import build_token_trigger
from daicho.cdk.observability.metrics import StackMetrics
from daicho.cdk.observability.observability import Observability
from daicho.cdk.settings import STAGES, Settings
from daicho.cdk.stores import DaichoTable, StackBuckets, build_key
from daicho.errors import SettingsError
from daicho.plan.events import list_receivers
from daicho.project import Project

OPERATOR_PATH = "/ops/{proxy+}"
"""The routes of operators, which another function answers than those of tenants."""


class Daicho(Construct):
    """One table with its stream, functions, API, archive, dashboard and alarms.

    It fits into any stack: it has no VPC, sets no names but those that begin with the project and
    the stage (which must be unique in an account and Region), and takes the tags of its stack. Its
    logical IDs follow from its place: what holds data is replaced if the construct is moved or
    renamed.

    Attributes:
        table: its indexes are GSI1, GSI2 and GSI3.
        archive, failures, objects: the buckets.
        user_pool, user_pool_client: both are None for an issuer of the team's own.
        http_api, api_url: the HTTP API, and its URL.
        functions: by name: api, project, archive, redrive, jobs, ops, release, rollup, audit,
            forget, sweep; tokens if access tokens have the tenant; publish if events are published,
            and for each subscriber ``on_`` and its name.
        outputs: those of the stack, by name.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        project: Project,
        settings: Settings,
        generations: plan.Ledger | None = None,
    ) -> None:
        """Create everything.

        ``settings``: a stage, as it is or with changes: ``replace(STAGES["prod"], log_days=14)``.
        ``generations``: the project's own by default; event filters are computed from them.

        Raises:
            ProjectError: the project lacks something.
            DeclarationError: see `Project.check`.
            SettingsError: a setting has no meaning, nobody is notified of the alarms of stage
                prod, or the layer cannot be built.
        """
        if settings.stage not in STAGES:
            raise SettingsError(f"stage is {settings.stage!r}; the stages are {', '.join(STAGES)}")
        settings.check()
        super().__init__(scope, id)
        set_feature_flags(self)
        ledger = generations or project.check()
        settings = replace(settings, name=project.name)
        key = build_key(self, settings=settings)
        self.table = DaichoTable(self, "Table", settings=settings, key=key).table
        buckets = StackBuckets(self, "Buckets", settings=settings, key=key)
        self.archive, self.failures = buckets.archive, buckets.failures
        self.objects = buckets.objects
        if settings.backup_vault:
            RegionBackup(self, "Backup", settings=settings, table=self.table, buckets=buckets)
        shared = SharedResources(
            settings=settings,
            project=project,
            code=bundle_functions(project, settings=settings),
            layer=build_layer(self, settings=settings, project=project),
            ledger_source=build_ledger_layer(self, settings=settings, project=project),
            table=self.table,
            buckets=buckets,
            key=key,
        )
        release = Release(self, "Release", ledger=ledger, shared=shared)
        shared = replace(shared, ledger_source=release.source)
        trigger = build_token_trigger(self, shared=shared)
        auth = self._build_auth(settings, trigger)
        self.user_pool = auth.pool if auth else None
        self.user_pool_client = auth.client if auth else None
        parts = self._build_functions(ledger, shared, auth)
        catalog = ArchiveCatalog(self, "Catalog", ledger=ledger, shared=shared)
        self.http_api, self.api_url = parts.api.http, parts.api.url
        functions = [*parts.functions, *([trigger] if trigger else [])]
        _order_updates(release, parts, functions)
        watched = {python.name: python.function for python in functions}
        # A release that fails ends the deployment, which says why: it needs no alarm.
        released = {release.python.name: release.python.function}
        self.functions: Mapping[str, lambda_.Function] = {**watched, **released}
        metrics = StackMetrics(
            shared=shared,
            functions=watched,
            api=parts.api.http,
            state_machine=parts.machine,
            events=parts.events,
        )
        Observability(self, "Observability", metrics=metrics)
        self.outputs = self._list_outputs(settings, parts, catalog, auth)

    def _build_functions(
        self, ledger: plan.Ledger, shared: SharedResources, auth: Auth | None
    ) -> _Parts:
        """The functions of the stream, the redrive, the jobs, the APIs and the schedules."""
        projector = build_projector(self, ledger=ledger, shared=shared)
        receivers = list_receivers(ledger.events)
        events = build_event_paths(
            self,
            receivers=receivers,
            subscribers=shared.project.list_subscribers() if any(receivers) else {},
            shared=shared,
        )
        archiver = build_archiver(self, ledger=ledger, shared=shared, events=events)
        redrive = Redrive(
            self,
            "Redrive",
            shared=shared,
            projector=projector.python.function,
            archiver=archiver.python.function,
        )
        allow_sending(redrive.python, events)
        jobs = Jobs(self, "Jobs", shared=shared, redrive=redrive.python.function)
        machine = jobs.state_machine.attr_arn
        api = Api(self, "Api", auth=auth, state_machine=machine, shared=shared)
        scheduled = {
            each.name: build_scheduled_function(
                self,
                recurring=each,
                shared=shared,
                state_machine=machine,
                mapping=projector.mapping.ref,
            )
            for each in RECURRING
        }
        ops = build_ops(
            self,
            shared=shared,
            state_machine=machine,
            projector=projector.python.function,
            archiver=archiver.python.function,
            auditor=scheduled["audit"].function,
        )
        api.add_function(OPERATOR_PATH, ops.function)
        return _Parts(projector, archiver, redrive, jobs, api, ops, scheduled, events)

    def _list_outputs(
        self, settings: Settings, parts: _Parts, catalog: ArchiveCatalog, auth: Auth | None
    ) -> Mapping[str, str]:
        """The outputs of the stack, by name."""
        api = parts.api
        return {
            "ApiUrl": api.url,
            **({"ConsoleUrl": api.console_url} if api.console_url else {}),
            "TableName": self.table.table_name,
            "ArchiveBucketName": self.archive.bucket_name,
            "ArchiveDatabaseName": catalog.database_name,
            "ArchiveTableName": catalog.table_name,
            "ArchiveWorkgroupName": catalog.workgroup_name,
            "FailureBucketName": self.failures.bucket_name,
            "ObjectsBucketName": self.objects.bucket_name,
            "TenantClaim": settings.identity.tenant_claim,
            **(auth.outputs if auth else {}),
            **({"DomainTarget": api.domain_target} if api.domain_target else {}),
            "JobMachineArn": parts.machine,
            **{name: value for path in parts.events for name, value in path.outputs.items()},
            **{
                f"{to_camel(name)}FunctionName": function.function_name
                for name, function in self.functions.items()
            },
        }

    def _build_auth(self, settings: Settings, trigger: PythonFunction | None) -> Auth | None:
        """The user pool; none for an issuer of the team's own."""
        if not isinstance(settings.identity, CognitoPool):
            return None
        function = trigger.function if trigger else None
        return Auth(self, "Auth", settings=settings, identity=settings.identity, trigger=function)


@dataclass(frozen=True)
class _Parts:
    """The constructs of a stage whose functions are deployed in an order."""

    projector: StreamConsumer
    archiver: StreamConsumer
    redrive: Redrive
    jobs: Jobs
    api: Api
    ops: PythonFunction
    scheduled: Mapping[str, PythonFunction]
    events: Sequence[EventQueue]

    @property
    def machine(self) -> str:
        """The ARN of the state machine of jobs."""
        return self.jobs.state_machine.attr_arn

    @property
    def functions(self) -> list[PythonFunction]:
        """All functions."""
        consumers = (self.projector.python, self.archiver.python)
        own = (self.api.python, *consumers, self.redrive.python, self.jobs.python)
        return [*own, self.ops, *self.scheduled.values(), *(path.python for path in self.events)]


def _order_updates(release: Release, parts: _Parts, functions: Sequence[PythonFunction]) -> None:
    """Let CloudFormation update the stream consumers before the API.

    Otherwise an item that the new API writes could reach an old consumer, which cannot process it,
    or an old event filter, which drops its record; a dropped record is not delivered again. Before
    all of them the lock file is checked, and before the API the event filters.
    """
    for python in functions:
        python.function.node.add_dependency(release.check)
    release.open.node.add_dependency(parts.projector, parts.archiver)
    # The rollup retires shards. Earlier code would count late repeats of those, and discarded
    # records in absent slots. Its last attempts end before a slot is folded early (rule 48).
    rollup = parts.scheduled["rollup"].function
    rollup.node.add_dependency(parts.projector, parts.redrive)
    subscribers = [path.python for path in parts.events if isinstance(path, SubscriberPath)]
    finish = release.add_finish(parts.machine)
    for python in (parts.api.python, *subscribers):
        python.function.node.add_dependency(release.open)
        finish.node.add_dependency(python.function)


class DaichoStack(Stack):
    """``<project>-<stage>``: one table and all that keeps its derived state right."""

    def __init__(
        self,
        scope: Construct,
        id: str | None = None,
        *,
        project: Project,
        settings: Settings,
        generations: plan.Ledger | None = None,
        **properties: Any,
    ) -> None:
        """Create the stack of one stage; ``properties``: other properties of a stack.

        Raises:
            ProjectError, DeclarationError, SettingsError: see `Daicho`.
        """
        described = f"{project.name}: one DynamoDB table, and everything derived from it kept exact"
        defaults = {
            "env": Environment(account=settings.account, region=settings.region),
            "description": described,
            "termination_protection": settings.retain,
        }
        super().__init__(
            scope, id or f"{project.name}-{settings.stage}", **{**defaults, **properties}
        )
        # Some flags are read at the stack only.
        set_feature_flags(self)
        # "Default" is no part of logical IDs: those of its parts do not name it.
        self.daicho = Daicho(
            self, "Default", project=project, settings=settings, generations=generations
        )
        for name, value in self.daicho.outputs.items():
            CfnOutput(self, name, value=value)
