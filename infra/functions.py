"""A Python function: every default in one place, and its own least-privilege role."""

from __future__ import annotations

from dataclasses import dataclass

from aws_cdk import CfnElement, Duration, IgnoreMode, Stack
from aws_cdk import aws_dynamodb as dynamodb
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import aws_s3 as s3
from constructs import Construct

from infra import grants
from infra.nag_suppressions import suppress_finding
from infra.settings import ROOT, Settings, SettingsError

ARM = lambda_.Architecture.ARM_64
RUNTIME = lambda_.Runtime.PYTHON_3_14
RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    14: logs.RetentionDays.TWO_WEEKS,
    90: logs.RetentionDays.THREE_MONTHS,
}
NOT_CODE = ["**/__pycache__", "**/*.pyc", "**/.*_cache"]


@dataclass(frozen=True, kw_only=True)
class SharedResources:
    """The common base of all functions: the stage, their code, and their stores.

    ``layer``: the dependencies. Stage local has no layer: each worker of the local AWS would
    unpack it again.
    """

    settings: Settings
    code: lambda_.Code
    layer: lambda_.LayerVersion | None
    table: dynamodb.Table
    archive: s3.Bucket
    failures: s3.Bucket
    objects: s3.Bucket
    key: kms.Key | None

    @property
    def stream(self) -> str:
        """The ARN of the table's stream."""
        arn = self.table.table_stream_arn
        if arn is None:
            raise SettingsError("the table has no stream")
        return arn


def bundle_functions() -> lambda_.Code:
    """The code of all functions, without caches of Python and its tools."""
    return lambda_.Code.from_asset(
        str(ROOT / "functions"), exclude=NOT_CODE, ignore_mode=IgnoreMode.GLOB
    )


def build_layer(scope: Construct, *, settings: Settings) -> lambda_.LayerVersion | None:
    """The layer, from its build folder; None at a stage without a layer.

    Raises:
        SettingsError: it has not been built.
    """
    if settings.layer is None:
        return None
    if not (settings.layer / "python").is_dir():
        raise SettingsError(f"{settings.layer} holds no layer: build it with `make layer`")
    return lambda_.LayerVersion(
        scope,
        "Layer",
        code=lambda_.Code.from_asset(str(settings.layer)),
        compatible_runtimes=[RUNTIME],
        compatible_architectures=[ARM],
        description="What requirements-layer.txt pins",
    )


class PythonFunction(Construct):
    """One function of ``handlers``, with its log group and its role."""

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        foundation: SharedResources,
        granted: grants.Grants,
        timeout: Duration,
        environment: dict[str, str] | None = None,
    ) -> None:
        """Create ``handlers.<name>.handler`` with the permissions ``granted``."""
        super().__init__(scope, id)
        self.settings = settings = foundation.settings
        self._foundation = foundation
        log_group = logs.LogGroup(
            self,
            "Logs",
            retention=RETENTION[settings.log_days],
            removal_policy=settings.removal_policy,
        )
        self._role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"Daicho {settings.stage}: {name}",
        )
        log_group.grant_write(self._role)
        self._grant(granted)
        self.function = lambda_.Function(
            self,
            "Function",
            runtime=RUNTIME,
            architecture=ARM,
            code=foundation.code,
            handler=f"handlers.{name}.handler",
            description=f"Daicho {settings.stage}: {name}",
            layers=[foundation.layer] if foundation.layer else None,
            memory_size=getattr(settings.memory, name),
            timeout=timeout,
            role=self._role,
            log_group=log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            application_log_level_v2=lambda_.ApplicationLogLevel[settings.log_level],
            system_log_level_v2=lambda_.SystemLogLevel.WARN,
            tracing=lambda_.Tracing.ACTIVE,
            environment={
                "TABLE_NAME": foundation.table.table_name,
                "STAGE": settings.stage,
                "POWERTOOLS_SERVICE_NAME": name,
                "POWERTOOLS_METRICS_NAMESPACE": "Daicho",
                "POWERTOOLS_LOG_LEVEL": settings.log_level,
                **({"PYTHONPATH": settings.local_layer} if settings.local_layer else {}),
                **(environment or {}),
            },
        )
        suppress_finding(
            self._role,
            rule="IAM5[Resource::*]",
            reason="X-Ray's PutTraceSegments and PutTelemetryRecords know no resources"
            + ("; nor does DynamoDB's ListStreams." if granted.stream else "."),
        )

    def _grant(self, granted: grants.Grants) -> None:
        """Exactly the listed actions, each on exactly one kind of resource."""
        table = self._foundation.table
        self._allow("dynamodb", granted.table, table.table_arn)
        for index, actions in granted.indexes.items():
            self._allow("dynamodb", actions, f"{table.table_arn}/index/{index}")
        if granted.archive:
            self._allow_objects(
                granted.archive,
                self._foundation.archive,
                "entity=*",
                reason="The names of objects follow from the records; all archived entities "
                "are this function's.",
            )
        if granted.archive_bucket:
            self._allow("s3", granted.archive_bucket, self._foundation.archive.bucket_arn)
        failures = self._foundation.failures
        for pattern, actions in granted.failures.items():
            self._allow_objects(
                actions,
                failures,
                pattern,
                reason="The names of payloads follow from the records.",
            )
        if granted.failure_bucket:
            self._allow("s3", granted.failure_bucket, failures.bucket_arn)
        if granted.objects:
            self._allow_objects(
                granted.objects,
                self._foundation.objects,
                "*",
                reason="The names of objects follow from the keys of their items, of any tenant.",
            )
        if granted.object_bucket:
            self._allow("s3", granted.object_bucket, self._foundation.objects.bucket_arn)
        if granted.stream:
            self._allow("dynamodb", grants.STREAM_READ, self._foundation.stream)
            self._allow("dynamodb", grants.STREAM_LIST, "*")
            self._allow_objects(
                grants.FAILURE_OBJECTS,
                failures,
                grants.DISCARDED,
                reason="Lambda itself names the objects that hold what it discards.",
            )
            self._allow("s3", grants.FAILURE_BUCKET, failures.bucket_arn)
        if self._foundation.key:
            self._allow("kms", grants.KEY, self._foundation.key.key_arn)

    def _allow_objects(
        self, actions: tuple[str, ...], bucket: s3.Bucket, pattern: str, *, reason: str
    ) -> None:
        self._allow("s3", actions, bucket.arn_for_objects(pattern))
        resource = f"<{Stack.of(self).get_logical_id(_render_resource(bucket))}.Arn>/{pattern}"
        suppress_finding(self._role, rule=f"IAM5[Resource::{resource}]", reason=reason)

    def allow(self, service: str, actions: tuple[str, ...], resource: str) -> None:
        """Grant actions on one resource, beside those of ``granted``."""
        self._allow(service, actions, resource)

    def _allow(self, service: str, actions: tuple[str, ...], resource: str) -> None:
        self._role.add_to_policy(
            iam.PolicyStatement(
                actions=[f"{service}:{action}" for action in actions], resources=[resource]
            )
        )


def _render_resource(bucket: s3.Bucket) -> CfnElement:
    resource = bucket.node.default_child
    if not isinstance(resource, CfnElement):
        raise TypeError(f"{bucket.node.path} is no bucket of this stack")
    return resource
