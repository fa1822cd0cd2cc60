"""The differences between the stages, in one typed place."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs

from daicho.cdk.api_access import (
    COGNITO,
    Identity,
    OwnIssuer,
    list_custom_domain_problems,
    list_origin_problems,
    read_identity,
)
from daicho.cdk.context_options import (
    ContextReader,
    list_alarm_problems,
    list_stream_problems,
    list_vault_problems,
    list_window_problems,
)
from daicho.errors import SettingsError
from daicho.plan.disabled import RETIREMENT_S
from daicho.runtime.bounds import DEFAULT_BOUNDS, RequestBounds
from daicho.runtime.settings import MIN_FILTER_SPREAD_S, UPLOAD_SECONDS
from daicho.runtime.tenant_limits import EVERYBODY, Limits, TenantLimits

LOCALLY = "deploy it with daicho local up (make up), which passes them"
CUSTOM_DOMAIN_OPTIONS = ("domain_name", "certificate_arn", "hosted_zone_id")

RETENTION = {
    1: logs.RetentionDays.ONE_DAY,
    3: logs.RetentionDays.THREE_DAYS,
    5: logs.RetentionDays.FIVE_DAYS,
    7: logs.RetentionDays.ONE_WEEK,
    14: logs.RetentionDays.TWO_WEEKS,
    30: logs.RetentionDays.ONE_MONTH,
    60: logs.RetentionDays.TWO_MONTHS,
    90: logs.RetentionDays.THREE_MONTHS,
    180: logs.RetentionDays.SIX_MONTHS,
    365: logs.RetentionDays.ONE_YEAR,
    731: logs.RetentionDays.TWO_YEARS,
}
"""Days of logs that CloudWatch can keep, of those that a stage may ask for."""

REBUILD_UNITS = 500
"""Write units a second of a rebuild that a deployment or the sweep starts."""
LINEAGE_BYTES = 4
MAX_REQUEST_BURST = 5_000
"""The quota of an account. Source: "Quotas for HTTP APIs", API Gateway Developer Guide."""
MEMORY_MB: Mapping[str, int] = {
    "api": 1024,
    "project": 1769,
    "rollup": 512,
    "archive": 1024,
    "redrive": 1024,
    "sweep": 512,
    "jobs": 1024,
    "ops": 1024,
    "audit": 3008,
    "forget": 1024,
    "release": 512,
    "tokens": 512,
    "publish": 512,
    "subscribe": 1024,
}
"""Megabytes of each function; the processor share grows with them (1,769 is one core)."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One stage: what a project chooses, and what follows from the stage.

    ``name``: the project, which begins all names that must be unique in an account.
    ``retain``: data outlives the stack, and the table, the users and the stack are protected from
    deletion. ``warm_throughput``: bought by an option of the deployment only, as it is paid each
    time that a table is created with it.
    ``log_days``: of all logs, also of the access logs, which name clients' addresses.
    ``project_window_seconds``: how long Lambda collects records before it invokes the projector,
    if there are fewer than a batch. Each second makes searches and totals a second older, and
    writes of totals fewer. ``console``: the API serves the console.
    ``memory``: megabytes of functions, by name, where they differ from `MEMORY_MB`. ``subscribe``
    names all subscribers.
    ``bounds``: what one request of the API may take. ``reserved_concurrency``: the executions
    that are kept for a function, which are its most too, by name; none by default.
    ``local_layer``, ``local_ledger``: the folders with the packages and the lock file at stage
    local; other stages have layers. ``faults``, for stage local only: how often the projector is to
    fail on purpose, as a share of its writes.
    ``identity``: who signs the tokens. ``cors_origins``: whose pages may call the API in a browser,
    and put and get objects by signed URLs. ``domain_name``: the API's own host name, with a
    certificate of the stack's Region; ``hosted_zone_id``: the zone that gets its record.
    ``event_bus``: the name or ARN of an existing bus that gets the events; by default the stack has
    its own, if anything is published.
    ``alarm_email``, ``alarm_topic``: whom alarms notify, an address and the ARN of an existing SNS
    topic; both may be given. The topic `NO_TOPIC` means that something else reads the states of
    the alarms.
    ``concurrency_quota``: the account's quota of concurrent executions.
    ``backup_vault``: the ARN of a backup vault in another Region, which gets a copy of the stores
    each day (ADR 0190). ``table_stream``: the ARN of the stream of a restored table, which the
    stage has instead of its own, lost one (ADR 0189).
    ``tenant_limits``: what tenants may consume, by tenant, and ``*`` for all others. By default it
    is half of the stage's requests, and the units of `Limits`.
    """

    stage: str
    name: str = "Daicho"
    retain: bool
    warm_throughput: bool = False
    customer_managed_key: bool = False
    log_days: int
    project_window_seconds: int = 1
    console: bool = True
    requests_per_second: int
    memory: Mapping[str, int] = field(default_factory=dict)
    bounds: RequestBounds = DEFAULT_BOUNDS
    reserved_concurrency: Mapping[str, int] = field(default_factory=dict)
    local_layer: str | None = None
    local_ledger: str | None = None
    api_url: str | None = None
    faults: float | None = None
    identity: Identity = COGNITO
    cors_origins: tuple[str, ...] = ()
    domain_name: str | None = None
    certificate_arn: str | None = None
    hosted_zone_id: str | None = None
    event_bus: str | None = None
    alarm_email: str | None = None
    alarm_topic: str | None = None
    concurrency_quota: int = 1_000
    backup_vault: str | None = None
    table_stream: str | None = None
    tenant_limits: Mapping[str, Limits] = field(default_factory=dict)
    account: str | None = None
    region: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether this is the stage of the local AWS, which lacks some features of AWS."""
        return self.stage == "local"

    @property
    def is_production(self) -> bool:
        """Whether this is the stage of production."""
        return self.stage == "prod"

    @property
    def recovery_days(self) -> int | None:
        """The period of point-in-time recovery; None: there is none."""
        if self.is_local:
            return None
        return 35 if self.retain else 1

    @property
    def lineage(self) -> str:
        """What ETags and cursors of a restored table have; "" for the stage's own table."""
        if self.table_stream is None:
            return ""
        return hashlib.blake2b(self.table_stream.encode(), digest_size=LINEAGE_BYTES).hexdigest()

    @property
    def settle_seconds(self) -> int:
        """After so long, whatever wrote for a tenant when it was closed has ended.

        The projector has processed what was written, too.
        """
        return 8 if self.is_local else 1_000

    @property
    def upload_seconds(self) -> int:
        """How long a URL to upload an object is valid: a tenant's deletion waits for it."""
        return 15 if self.is_local else UPLOAD_SECONDS

    @property
    def filter_spread_seconds(self) -> int | None:
        """How long Lambda may apply a changed event filter to some invocations only."""
        return None if self.is_local else MIN_FILTER_SPREAD_S

    @property
    def retirement_seconds(self) -> int | None:
        """How long an instance is kept after its successor became complete; None: not at all."""
        return None if self.is_local else RETIREMENT_S

    @property
    def dirty_shards(self) -> int:
        """The number of partitions of GSI2 for the dirty marks of tallies."""
        return 1 if self.is_local else 16

    @property
    def verify_percent(self) -> int:
        """The share of the table that is verified each day."""
        return 0 if self.is_local else 1

    @property
    def scan_units(self) -> int:
        """Read units a second of a tenant's deletion, a rebuild and a purge."""
        return 6_000 if self.is_production else 1_000

    @property
    def archive_window_seconds(self) -> int:
        """How long the archive gathers records before it writes an object."""
        return 0 if self.is_local else 300 if self.is_production else 60

    @property
    def query_gigabytes(self) -> int:
        """What a single query of the archive may read before it is ended."""
        return 100 if self.is_production else 10

    @property
    def all_limits(self) -> TenantLimits:
        """What each tenant may consume."""
        default = Limits(requests=max(1, self.requests_per_second // 2))
        return TenantLimits.collect({EVERYBODY: default, **self.tenant_limits})

    @property
    def request_burst(self) -> int:
        """Requests at once that the API accepts: at most the quota of an account."""
        return min(self.requests_per_second, MAX_REQUEST_BURST)

    @property
    def token_hours(self) -> int:
        """The validity of ID tokens and access tokens."""
        return 24 if self.is_local else 1

    @property
    def log_retention(self) -> logs.RetentionDays:
        """How long logs are kept.

        Raises:
            SettingsError: CloudWatch cannot keep logs for ``log_days`` days.
        """
        try:
            return RETENTION[self.log_days]
        except KeyError:
            choices = ", ".join(map(str, RETENTION))
            raise SettingsError(f"log_days is {self.log_days}; it can be {choices}") from None

    @property
    def full_name(self) -> str:
        """Project and stage, as names of resources have them: ``Shop-dev``."""
        return f"{self.name}-{self.stage}"

    @property
    def title(self) -> str:
        """Project and stage, as descriptions have them: ``Shop dev``."""
        return f"{self.name} {self.stage}"

    @property
    def removal_policy(self) -> RemovalPolicy:
        """Of the table, the users and the key."""
        return RemovalPolicy.RETAIN if self.retain else RemovalPolicy.DESTROY

    @property
    def rollback_removal_policy(self) -> RemovalPolicy:
        """Of buckets and logs: as `removal_policy`, but a rollback of their creation removes them.

        Not used for the table and the user pool: their deletion protection would make the rollback
        fail.
        """
        kept = RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        return kept if self.retain else RemovalPolicy.DESTROY

    @property
    def address(self) -> str:
        """The API's own URL as far as it is known before the deployment; or empty."""
        return self.api_url or (f"https://{self.domain_name}" if self.domain_name else "")

    def check(self) -> None:
        """Check identity, origins, batching windows, domain and the actions of alarms.

        Raises:
            SettingsError: everything that is wrong, in one message.
        """
        if wrong := [*self._list_problems()]:
            raise SettingsError("; ".join(wrong))

    def _list_problems(self) -> Iterator[str]:
        domain = (self.domain_name, self.certificate_arn, self.hosted_zone_id)
        yield from self.identity.list_problems()
        yield from self.all_limits.list_problems()
        yield from list_origin_problems(self.cors_origins)
        yield from list_window_problems("project_window_seconds", self.project_window_seconds)
        yield from list_custom_domain_problems(*domain, self.region)
        yield from list_alarm_problems(
            email=self.alarm_email,
            topic=self.alarm_topic,
            region=self.region,
            needs_action=self.is_production,
        )
        yield from list_stream_problems(self.table_stream, self.region)
        yield from list_vault_problems(self.backup_vault, self.region)
        if self.is_local and self.backup_vault:
            yield "backup_vault is for stages of an account only"
        if self.is_local and isinstance(self.identity, OwnIssuer):
            yield "an issuer of your own is not for stage local, whose users are in its user pool"
        if self.is_local and self.domain_name:
            yield "domain_name is not for stage local"
        if self.is_local and self.warm_throughput:
            yield "warm_throughput is for stages of an account only"
        single = [name for name in MEMORY_MB if name != "subscribe"]  # each subscriber is one
        for name, known in (("memory", [*MEMORY_MB]), ("reserved_concurrency", single)):
            if unknown := sorted(getattr(self, name).keys() - set(known)):
                yield f"{name} has {', '.join(unknown)}; the functions are {', '.join(known)}"
        reserved, most = sum(self.reserved_concurrency.values()), self.concurrency_quota - 100
        if reserved > most or any(value < 1 for value in self.reserved_concurrency.values()):
            yield (
                f"reserved_concurrency is {reserved} in all; each is 1 or more, and Lambda keeps "
                f"100 of {self.concurrency_quota} for functions without one: at most {most}"
            )

    @classmethod
    def from_context(cls, context: Callable[[str], Any]) -> Settings:
        """Read the stage and its few options from the CDK context, or from its object there.

        The options are:

        - ``account`` and ``region``: both or neither. Without them the credentials of the
          deployment decide.
        - ``console`` and ``warm_throughput``: true or false.
        - ``cors_origins``: separated by commas.
        - ``alarm_email``, ``alarm_topic``, ``project_window_seconds``,
          ``domain_name``, ``certificate_arn``, ``hosted_zone_id``, ``backup_vault``,
          ``table_stream``, ``event_bus``, and those of `read_identity`.
        - At stage local: ``local_layer``, ``local_ledger`` and ``api_url``, which are required,
          and ``faults``.

        Raises:
            SettingsError: everything that is missing or wrong, in one message.
        """
        context = ContextReader(context)
        stage = context("stage") or "dev"
        if stage not in [*STAGES]:  # a value of cdk.json may have no hash
            raise SettingsError(f"stage is {stage!r}; the stages are {', '.join(STAGES)}")
        context.choose_stage(stage)
        local = ("local_layer", "local_ledger", "api_url")
        texts = (
            *(*local, *CUSTOM_DOMAIN_OPTIONS, "alarm_email", "alarm_topic"),
            *("backup_vault", "table_stream", "event_bus"),
            *("account", "region"),
        )
        options: dict[str, Any] = {name: context.read_text(name) for name in texts}
        missing = [name for name in local if stage == "local" and not context(name)]
        context.wrong += [f"stage local needs {', '.join(missing)}: {LOCALLY}"] if missing else []
        options["warm_throughput"] = context.read_boolean("warm_throughput")
        options["console"] = context.read_boolean("console", default=True)
        name, default = "project_window_seconds", STAGES[stage].project_window_seconds
        options[name] = context.read_seconds(name, default=default)
        options["cors_origins"] = context.read_list("cors_origins")
        options["identity"] = read_identity(context)
        options["faults"] = context.read_fraction("faults")
        for name in (*local, "faults"):
            if stage != "local" and options[name]:
                context.wrong.append(f"{name} is for stage local only")
        if bool(options["account"]) != bool(options["region"]):
            context.wrong.append("account and region go together")
        settings = replace(STAGES[stage], **options)
        wrong = [*context.wrong, *context.list_misspelt(), *settings._list_problems()]
        if wrong:
            raise SettingsError("; ".join(wrong))
        return settings


STAGES = {
    "local": Settings(
        stage="local",
        retain=False,
        log_days=1,
        project_window_seconds=0,
        requests_per_second=1_000,
    ),
    "dev": Settings(stage="dev", retain=False, log_days=14, requests_per_second=500),
    "trial": Settings(stage="trial", retain=False, log_days=1, requests_per_second=500),
    "prod": Settings(stage="prod", retain=True, log_days=90, requests_per_second=10_000),
}
