"""A Python function: every default in one place, and its own least-privilege role."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from aws_cdk import Aws, CfnElement, Duration, RemovalPolicy, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from daicho.cdk.conventions import suppress_finding
from daicho.cdk.functions import grants
from daicho.cdk.functions.assets import (
    LOCAL_FUNCTIONS,
    build_lambda_layer,
    gather_code,
    gather_ledger,
)
from daicho.cdk.functions.grants import Grants
from daicho.cdk.settings import MEMORY_MB, Settings
from daicho.cdk.stores import StackBuckets
from daicho.errors import SettingsError
from daicho.plan import LOCK_FILE_NAME
from daicho.project import Project

ARM = lambda_.Architecture.ARM_64
RUNTIME = lambda_.Runtime.PYTHON_3_14
LOG_LEVEL = "INFO"
LOCAL, PROJECT_HANDLERS = "daicho.local", "PROJECT_HANDLERS"
"""The package of the handlers of stage local, and the variable that names the project's own."""
LAYERS = "/opt"
"""The folder in which Lambda unpacks the layers of a function."""
Actions = tuple[str, ...]

# Why a policy names objects by a pattern: the reasons that accompany cdk-nag's findings.
_ARCHIVE_NAMES = (
    "The names of objects follow from the records; all archived entities are this function's."
)
_PAYLOAD_NAMES = "The names of payloads follow from the records."
_OBJECT_NAMES = "The names of objects follow from the keys of their items, of any tenant."
_BATCH_NAMES = "Lambda itself names the objects that hold what it discards."


@dataclass(frozen=True, kw_only=True)
class SharedResources:
    """The common base of all functions: the stage, their code, and their stores.

    ``layer``: the dependencies. Stage local has no layers: each worker of the local AWS would
    unpack them again. ``ledger_source``: the ARN of the layer with the lock file, or a folder at
    stage local.
    """

    settings: Settings
    project: Project
    code: lambda_.Code
    layer: lambda_.ILayerVersion | None
    ledger_source: str
    table: dynamodb.ITableV2
    buckets: StackBuckets
    key: kms.Key | None

    @property
    def stream(self) -> str:
        """The ARN of the table's stream."""
        arn = self.table.table_stream_arn
        if arn is None:
            raise SettingsError("the table has no stream")
        return arn


def bundle_functions(project: Project, *, settings: Settings) -> lambda_.Code:
    """The code of all functions of a project."""
    return lambda_.Code.from_asset(str(gather_code(project, is_local=settings.is_local)))


def build_layer(
    scope: Construct, *, settings: Settings, project: Project
) -> lambda_.LayerVersion | None:
    """The layer, which is built for this if no cache has it; None at a stage without a layer.

    Raises:
        SettingsError: it cannot be built on this machine.
    """
    if settings.is_local:
        return None
    return lambda_.LayerVersion(
        scope,
        "Layer",
        code=lambda_.Code.from_asset(str(build_lambda_layer(more=project.requirements))),
        compatible_runtimes=[RUNTIME],
        compatible_architectures=[ARM],
        description="What requirements-layer.txt pins",
    )


def build_ledger_layer(scope: Construct, *, settings: Settings, project: Project) -> str:
    """The ARN of the layer with the lock file, or at stage local its folder.

    Versions of the layer outlive the stack: a function that is rolled back may need another one.
    """
    if settings.is_local:
        return settings.local_ledger or ""
    return lambda_.LayerVersion(
        scope,
        "LedgerLayer",
        code=lambda_.Code.from_asset(str(gather_ledger(project))),
        compatible_runtimes=[RUNTIME],
        description=f"{settings.title}: the generations of all declarations",
        removal_policy=RemovalPolicy.RETAIN,
    ).layer_version_arn


def forbid_retries(scope: Construct, function: lambda_.Function) -> None:
    """Invoke a function once for an asynchronous request, within a minute, or not at all."""
    lambda_.EventInvokeConfig(
        scope,
        "Invocation",
        function=function,
        retry_attempts=0,
        max_event_age=Duration.seconds(60),
    )


def build_invoker_role(
    scope: Construct, id: str, service: str, functions: Sequence[lambda_.Function], description: str
) -> iam.Role:
    """A role with which a service of AWS may invoke these functions for this account."""
    principal = iam.ServicePrincipal(f"{service}.amazonaws.com").with_conditions(
        {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
    )
    role = iam.Role(scope, id, assumed_by=principal, description=description)
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["lambda:InvokeFunction"],
            resources=[function.function_arn for function in functions],
        )
    )
    return role


class PythonFunction(Construct):
    """One function of the project's package of handlers, with its log group and its ``role``."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        shared: SharedResources,
        permissions: Grants,
        timeout: Duration,
        environment: Mapping[str, str],
        module: str = "",
    ) -> None:
        """Create the function ``name``, which may do what ``permissions`` lists.

        ``environment``: its variables other than those of all functions and its buckets.
        ``module``: of its handler, whose memory it has; by default that of its name.
        """
        super().__init__(scope, id)
        self.name = name
        self.settings = settings = shared.settings
        self._shared = shared
        log_group, self.role = self._create_log_and_role()
        self._grant(permissions)
        is_wrapped = settings.is_local and name in LOCAL_FUNCTIONS
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=RUNTIME,
            architecture=ARM,
            code=shared.code,
            handler=f"{LOCAL if is_wrapped else shared.project.handlers}.{module or name}.handler",
            description=f"{settings.title}: {name}",
            layers=self._list_layers(),
            memory_size={**MEMORY_MB, **settings.memory}[module or name],
            reserved_concurrent_executions=settings.reserved_concurrency.get(name),
            timeout=timeout,
            role=self.role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel[LOG_LEVEL],
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            tracing=lambda_.Tracing.ACTIVE,
            environment={
                **self._build_environment(is_wrapped=is_wrapped),
                **self._name_buckets(permissions),
                **environment,
            },
        )
        self._accept_tracing(permissions)

    def _accept_tracing(self, permissions: Grants) -> None:
        """Acknowledge that some actions know no resources."""
        suppress_finding(
            self.role,
            rule="IAM5[Resource::*]",
            reason="X-Ray's PutTraceSegments and PutTelemetryRecords know no resources"
            + ("; nor does DynamoDB's ListStreams." if permissions.stream else "."),
        )

    def _create_log_and_role(self) -> tuple[logs.LogGroup, iam.Role]:
        """The group of the function's log, and its role, which may write it."""
        settings = self.settings
        log_group = logs.LogGroup(
            self,
            "Logs",
            retention=settings.log_retention,
            removal_policy=settings.rollback_removal_policy,
        )
        role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"{settings.title}: {self.name}",
        )
        log_group.grant_write(role)
        return log_group, role

    def _build_environment(self, *, is_wrapped: bool) -> dict[str, str]:
        """The variables that all functions have."""
        settings, shared = self.settings, self._shared
        ledger_folder = shared.ledger_source if settings.is_local else LAYERS
        return {
            "TABLE_NAME": shared.table.table_name,
            "STAGE": settings.stage,
            "POWERTOOLS_SERVICE_NAME": self.name,
            "POWERTOOLS_METRICS_NAMESPACE": settings.name,
            "POWERTOOLS_LOG_LEVEL": LOG_LEVEL,
            "LOCK_FILE": f"{ledger_folder}/{LOCK_FILE_NAME}",
            **({"PYTHONPATH": settings.local_layer} if settings.local_layer else {}),
            **({PROJECT_HANDLERS: shared.project.handlers} if is_wrapped else {}),
        }

    def _name_buckets(self, permissions: Grants) -> dict[str, str]:
        """The variables with the names of the buckets that the function may use."""
        buckets = self._shared.buckets
        of_failures = permissions.failures or permissions.failure_bucket
        used = {
            "ARCHIVE_BUCKET": (buckets.archive, permissions.archive),
            "FAILURE_BUCKET": (buckets.failures, of_failures),
            "OBJECT_BUCKET": (buckets.objects, permissions.objects),
        }
        return {name: bucket.bucket_name for name, (bucket, actions) in used.items() if actions}

    def _list_layers(self) -> list[lambda_.ILayerVersion]:
        if self._shared.layer is None:
            return []
        source = self._shared.ledger_source
        ledger = lambda_.LayerVersion.from_layer_version_arn(self, "Ledger", source)
        return [self._shared.layer, ledger]

    def _grant(self, permissions: Grants) -> None:
        """Grant exactly the listed actions, each on exactly one kind of resource."""
        shared, table = self._shared, self._shared.table
        archive, failures = shared.buckets.archive, shared.buckets.failures
        objects = shared.buckets.objects
        statements: list[tuple[str, Actions, str | _ObjectNames]] = [
            ("dynamodb", permissions.table, table.table_arn),
            *(
                ("dynamodb", actions, f"{table.table_arn}/index/{index}")
                for index, actions in permissions.indexes.items()
            ),
            ("s3", permissions.archive, _ObjectNames(archive, "entity=*", _ARCHIVE_NAMES)),
            ("s3", permissions.archive_bucket, archive.bucket_arn),
            *(
                ("s3", actions, _ObjectNames(failures, pattern, _PAYLOAD_NAMES))
                for pattern, actions in permissions.failures.items()
            ),
            ("s3", permissions.failure_bucket, failures.bucket_arn),
            ("s3", permissions.objects, _ObjectNames(objects, "*", _OBJECT_NAMES)),
            ("s3", permissions.object_bucket, objects.bucket_arn),
        ]
        if permissions.stream:
            batches = _ObjectNames(failures, grants.DISCARDED, _BATCH_NAMES)
            statements += [
                ("dynamodb", grants.STREAM_READ, shared.stream),
                ("dynamodb", grants.STREAM_LIST, "*"),
                ("s3", grants.FAILURE_OBJECTS, batches),
                ("s3", grants.FAILURE_BUCKET, failures.bucket_arn),
            ]
        if shared.key and permissions.table:
            statements.append(("kms", grants.KEY, shared.key.key_arn))
        for service, actions, resource in statements:
            leading_keys = permissions.leading_keys if service == "dynamodb" else ""
            if actions:
                self.allow(service, actions, resource, leading_keys)

    def allow(
        self,
        service: str,
        actions: Actions,
        resource: str | _ObjectNames,
        leading_keys: str = "",
    ) -> None:
        """Grant actions of a service on one resource; with a pattern of partition keys, if any."""
        arn = resource if isinstance(resource, str) else resource.arn
        condition = {"ForAllValues:StringLike": {"dynamodb:LeadingKeys": leading_keys}}
        self.role.add_to_policy(
            iam.PolicyStatement(
                actions=[f"{service}:{action}" for action in actions],
                resources=[arn],
                conditions=condition if leading_keys else None,
            )
        )
        if isinstance(resource, _ObjectNames):
            suppress_finding(self.role, rule=resource.nag_rule, reason=resource.reason)


@dataclass(frozen=True)
class _ObjectNames:
    """The objects of a bucket whose names match a pattern, and the reason for the pattern."""

    bucket: s3.Bucket
    pattern: str
    reason: str

    @property
    def arn(self) -> str:
        """The ARN in a policy."""
        return self.bucket.arn_for_objects(self.pattern)

    @property
    def nag_rule(self) -> str:
        """The rule of cdk-nag that finds a wildcard in this ARN."""
        resource = self.bucket.node.default_child
        if not isinstance(resource, CfnElement):
            raise TypeError(f"{self.bucket.node.path} is no bucket of this stack")
        logical_id = Stack.of(self.bucket).get_logical_id(resource)
        return f"IAM5[Resource::<{logical_id}.Arn>/{self.pattern}]"
