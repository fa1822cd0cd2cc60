"""The differences between the stages, in one typed place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs

from daicho.cdk.alarm_settings import list_alarm_problems
from daicho.cdk.api_access import (
    COGNITO,
    Identity,
    OwnIssuer,
    list_custom_domain_problems,
    list_origin_problems,
    read_identity,
)
from daicho.cdk.context_options import (
    list_window_problems,
    parse_boolean,
    parse_fraction,
    parse_seconds,
    parse_text,
    split_list,
)
from daicho.errors import SettingsError
from daicho.plan.disabled import RETIREMENT_S
from daicho.runtime.settings import MIN_FILTER_SPREAD_S, UPLOAD_SECONDS

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
"""Days of logs that CloudWatch can keep, of those that a ledger may ask for."""


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
}
"""Megabytes of each function; the processor share grows with them (1,769 is one core)."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """One stage. Names of durations include the unit; ``None`` disables a feature.

    ``name``: the project, which begins all names that must be unique in an account.
    ``local_layer``, ``local_ledger``: the folders with the packages and the lock file at stage
    local; other stages have layers.

    ``retain``: data outlives the stack. ``warm_throughput``: bought by an option of the deployment
    only, as it is paid each time that a table is created with it. ``replica_index``: a fourth index
    with the table's own keys and all attributes, for reading much without touching the table; it
    doubles every write.
    ``dirty_shards``: the number of partitions of GSI2 for the dirty marks of tallies.
    ``project_window_seconds``: how long Lambda collects records before it invokes the projector,
    if there are fewer than a batch. Each second makes searches and totals a second older, and
    writes of totals fewer. ``archive_window_seconds``: how long the archive gathers before it
    writes an object. ``console``: the API serves the console.
    ``query_gigabytes``: what a single query may read before it is ended.
    ``log_days``: of the functions' and the state machine's logs; ``access_log_days``: of the API's
    and the buckets' access logs, which name clients' addresses.
    ``cors_origins``: whose pages may call the API in a browser, and put and get objects by signed
    URLs. ``identity``: who signs the tokens. ``domain_name``: the API's own host name, with a
    certificate of the stack's Region; ``hosted_zone_id``: the zone that gets its record.
    ``memory``: megabytes of functions, by name, where they differ from `MEMORY_MB`.
    ``settle_seconds``: whatever writes for a tenant when it is closed has ended by then, and the
    projector has processed what was written. ``upload_seconds``: how long a URL to upload an object
    is valid, 15 minutes at most; the deletion of a tenant waits for it. ``filter_spread_seconds``:
    how long AWS may apply a changed event filter to some invocations only, at least
    `MIN_FILTER_SPREAD_S` outside of stage local. ``retirement_seconds``: how long an instance is
    kept after its successor became complete; None ends it at once. ``scan_units``: read units a
    second of a scan.
    ``rebuild_units``: write units a second of a rebuild, which a deployment starts if it needs one,
    and the sweep if an older item was found; None starts none. ``faults``, for stage local only:
    how often the projector is to fail on purpose, as a share of its writes.
    ``alarm_email``, ``alarm_topic``: whom alarms notify, an address and the ARN of an existing SNS
    topic; both may be given. ``alarms_without_action``: production may have neither, because
    something else reads the states of the alarms. ``runbook_url``: the page that the description of
    each alarm links to. ``concurrency_quota``: the account's quota of concurrent executions.
    """

    stage: str
    name: str = "Daicho"
    retain: bool
    deletion_protection: bool
    recovery_days: int | None
    warm_throughput: bool = False
    replica_index: bool = False
    customer_managed_key: bool = False
    log_days: int
    access_log_days: int
    dirty_shards: int = 16
    settle_seconds: int = 1_000
    upload_seconds: int = UPLOAD_SECONDS
    filter_spread_seconds: int | None = MIN_FILTER_SPREAD_S
    retirement_seconds: int | None = RETIREMENT_S
    scan_units: int = 1_000
    rebuild_units: int | None = 500
    project_window_seconds: int = 1
    console: bool = True
    archive_window_seconds: int
    query_gigabytes: int = 10
    requests_per_second: int
    request_burst: int
    id_token_hours: int = 1
    memory: Mapping[str, int] = field(default_factory=dict)
    local_layer: str | None = None
    local_ledger: str | None = None
    api_url: str | None = None
    faults: float | None = None
    identity: Identity = COGNITO
    cors_origins: tuple[str, ...] = ()
    domain_name: str | None = None
    certificate_arn: str | None = None
    hosted_zone_id: str | None = None
    alarm_email: str | None = None
    alarm_topic: str | None = None
    alarms_without_action: bool = False
    runbook_url: str = "docs/how-to/respond-to-alarms.md"
    concurrency_quota: int = 1_000
    account: str | None = None
    region: str | None = None

    @property
    def is_local(self) -> bool:
        """Whether this is the stage of the local AWS, which lacks some features of AWS."""
        return self.stage == "local"

    @property
    def log_retention(self) -> logs.RetentionDays:
        """How long logs are kept.

        Raises:
            SettingsError: CloudWatch cannot keep logs for ``log_days`` days.
        """
        return self._find_retention("log_days")

    @property
    def access_log_retention(self) -> logs.RetentionDays:
        """How long the API's access log is kept.

        Raises:
            SettingsError: CloudWatch cannot keep logs for ``access_log_days`` days.
        """
        return self._find_retention("access_log_days")

    def _find_retention(self, name: str) -> logs.RetentionDays:
        days: int = getattr(self, name)
        try:
            return RETENTION[days]
        except KeyError:
            choices = ", ".join(map(str, RETENTION))
            raise SettingsError(f"{name} is {days}; it can be {choices}") from None

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
        yield from list_origin_problems(self.cors_origins)
        for name in ("project_window_seconds", "archive_window_seconds"):
            yield from list_window_problems(name, getattr(self, name))
        yield from list_custom_domain_problems(*domain, self.region)
        yield from list_alarm_problems(
            email=self.alarm_email,
            topic=self.alarm_topic,
            region=self.region,
            needs_action=self.stage == "prod" and not self.alarms_without_action,
        )
        if not self.is_local and (self.filter_spread_seconds or 0) < MIN_FILTER_SPREAD_S:
            yield (
                f"filter_spread_seconds is {self.filter_spread_seconds}; outside of stage local it "
                f"is at least {MIN_FILTER_SPREAD_S}: Lambda may use an earlier event filter for so "
                "long, which drops records for good"
            )
        if not 1 <= self.upload_seconds <= UPLOAD_SECONDS:
            yield f"upload_seconds is {self.upload_seconds}; it is 1 to {UPLOAD_SECONDS}"
        if self.is_local and isinstance(self.identity, OwnIssuer):
            yield "an issuer of your own is not for stage local, whose users are in its user pool"
        if self.is_local and self.domain_name:
            yield "domain_name is not for stage local"
        if self.is_local and self.warm_throughput:
            yield "warm_throughput is for stages of an account only"
        if unknown := sorted(self.memory.keys() - MEMORY_MB.keys()):
            yield f"memory has {', '.join(unknown)}; the functions are {', '.join(MEMORY_MB)}"

    @classmethod
    def from_context(cls, context: Callable[[str], Any]) -> Settings:
        """Read the stage and its few options from the CDK context.

        Options: ``account`` and ``region`` (both or neither; neither leaves the choice to the
        credentials of the deployment), ``alarm_email``, ``alarm_topic``, ``alarms_without_action``,
        ``replica_index``, ``console`` and ``warm_throughput`` (true or false),
        ``runbook_url``, ``project_window_seconds``, ``cors_origins`` (separated by commas),
        ``domain_name``, ``certificate_arn``, ``hosted_zone_id``, those of `read_identity`; at stage
        local ``local_layer``, ``local_ledger`` and ``api_url``, which are required, and ``faults``.

        Raises:
            SettingsError: everything that is missing or wrong, in one message.
        """
        stage = context("stage") or "dev"
        if stage not in [*STAGES]:  # a value of cdk.json may have no hash
            raise SettingsError(f"stage is {stage!r}; the stages are {', '.join(STAGES)}")
        local = ("local_layer", "local_ledger", "api_url")
        texts = (*local, *CUSTOM_DOMAIN_OPTIONS, "alarm_email", "alarm_topic", "account", "region")
        wrong: list[str] = []
        options: dict[str, Any] = {name: parse_text(name, context(name), wrong) for name in texts}
        missing = [name for name in local if stage == "local" and not context(name)]
        wrong += [f"stage local needs {', '.join(missing)}: {LOCALLY}"] if missing else []
        for name in ("replica_index", "alarms_without_action", "warm_throughput"):
            options[name] = parse_boolean(name, context(name), wrong)
        console = context("console")
        options["console"] = True if console is None else parse_boolean("console", console, wrong)
        name, default = "project_window_seconds", STAGES[stage].project_window_seconds
        options[name] = parse_seconds(name, context(name), default, wrong)
        options["cors_origins"] = split_list(context("cors_origins"))
        options["identity"] = read_identity(context, wrong)
        options["faults"] = parse_fraction("faults", context("faults"), wrong)
        only = (*local, "faults")
        wrong += [f"{n} is for stage local only" for n in only if stage != "local" and options[n]]
        if bool(options["account"]) != bool(options["region"]):
            wrong.append("account and region go together")
        runbook = parse_text("runbook_url", context("runbook_url"), wrong)
        options["runbook_url"] = runbook or STAGES[stage].runbook_url
        settings = replace(STAGES[stage], **options)
        if wrong := [*wrong, *settings._list_problems()]:
            raise SettingsError("; ".join(wrong))
        return settings


STAGES = {
    "local": Settings(
        stage="local",
        retain=False,
        deletion_protection=False,
        recovery_days=None,
        log_days=1,
        access_log_days=1,
        dirty_shards=1,
        settle_seconds=8,
        upload_seconds=15,
        filter_spread_seconds=None,
        retirement_seconds=None,
        project_window_seconds=0,
        archive_window_seconds=0,
        requests_per_second=1000,
        request_burst=1000,
        id_token_hours=24,
    ),
    "dev": Settings(
        stage="dev",
        retain=False,
        deletion_protection=False,
        recovery_days=1,
        log_days=14,
        access_log_days=30,
        archive_window_seconds=60,
        requests_per_second=500,
        request_burst=500,
    ),
    "prod": Settings(
        stage="prod",
        retain=True,
        deletion_protection=True,
        recovery_days=35,
        log_days=90,
        access_log_days=90,
        scan_units=6_000,
        archive_window_seconds=300,
        query_gigabytes=100,
        requests_per_second=10_000,
        request_burst=5_000,
    ),
}
