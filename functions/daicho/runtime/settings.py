"""The settings of a function from its environment: parsed once, typed, frozen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Any, Literal, get_args

from daicho.errors import SettingsError
from daicho.runtime.bounds import UNBOUNDED, RequestBounds
from daicho.runtime.frozen_dataclasses import dataclass
from daicho.runtime.tenant_limits import TenantLimits
from daicho.runtime.token_claims import COGNITO_CLAIMS, ClaimNames

Stage = Literal["local", "dev", "trial", "prod"]
MAX_DIRTY_SHARDS = 256
CODE = Path(__file__).parents[2]
"""The folder with the package `daicho`: in a function, the root of its code."""
LOCK_FILE_NAME = "generations.json"
LOCK_FILE = CODE / LOCK_FILE_NAME
"""Next to the package `daicho`: where the code of a function has it."""
UPLOAD_SECONDS = 15 * 60
"""The longest time for which a URL to upload an object is valid."""
_CONSOLE = "CONSOLE_"
_TEXTS = (
    *("ARCHIVE_BUCKET", "FAILURE_BUCKET", "OBJECT_BUCKET", "JOB_MACHINE", "API_URL", "DASHBOARD"),
    *("PROJECT_FUNCTION", "ARCHIVE_FUNCTION", "AUDIT_FUNCTION", "PROJECT_MAPPING"),
    *("DOMAIN_PACKAGE", "MIGRATION_PACKAGE", "TABLE_LINEAGE"),
    *("SUBSCRIBER", "EVENT_BUS", "DEAD_LETTER_QUEUE", "AWS_LAMBDA_FUNCTION_NAME"),
)
"""The variables that are texts. Each is the setting of its name in lower case, as numbers are."""
_NUMBERS = {
    "DIRTY_SHARDS": MAX_DIRTY_SHARDS,
    "VERIFY_PERCENT": 100,
    **dict.fromkeys(("SETTLE_SECONDS", "SCAN_UNITS", "REBUILD_UNITS", "FILTER_SPREAD_SECONDS")),
    **dict.fromkeys(("RETIREMENT_SECONDS", "HEARTBEAT_SECONDS", "UPLOAD_SECONDS")),
}
"""The variables that are whole numbers, and the highest value that this module checks, if any."""

_BOUNDS = tuple(each.name for each in fields(RequestBounds))
"""The variables of `RequestBounds`, in lower case; without one there is no bound."""

MIN_FILTER_SPREAD_S = 90
"""Seconds for which Lambda may apply a changed event filter to some invocations only. Rule 28
depends on it: a heartbeat proves that a reader uses a filter that knows the entity, but not that it
uses none of those that were deployed earlier any more. Source: AWS Lambda Developer Guide, event
source mappings: an update may take up to 90 seconds."""


@dataclass(frozen=True)
class Settings:
    """The settings of one function; a setting that it does not need has its default.

    ``settle_seconds``: how long writers for a closed tenant may continue, or those of a retired
    stream shard; 0: the function retires none. ``scan_units``: read units a second.
    ``rebuild_units``: write units a second of a rebuild that a function starts; 0: it starts none.
    ``verify_percent``: of the table that a function has verified each day; 0: it starts no run.
    ``upload_seconds``: how long a URL to upload an object is valid.
    ``filter_spread_seconds``: how long a changed event filter may apply to some invocations only.
    ``heartbeat_seconds``: the age at which a stream shard without records gets a heartbeat, so that
    figures have an ``as_of``; 0: they have none.
    ``bounds``: what one request of the API may take.
    ``retirement_seconds``: how long an instance is kept after its successor became complete.
    ``domain_package``: the package of the domain files; ``migration_package``: that of the field
    migrations, empty for none. ``claim_names``: those of a token. ``dashboard``: the address of the
    dashboard. ``tenant_limits``: what tenants may consume; None: there are no quotas.
    ``event_queues``: the URL of the queue of each subscriber, by its name, and of the bus, by "";
    ``dead_letter_queue``: that of events that are given up. ``event_bus``: a name or an ARN.
    ``subscriber``: the name of the function's own. ``aws_lambda_function_name``: its own.
    ``lock_file``: the generations; a relative path begins at the folder of the function's code,
    which holds the package `daicho`.
    ``console``: the stage and the variables ``CONSOLE_*``, by the rest of their lower-case names;
    None if ``CONSOLE`` is false.
    ``table_lineage``: of a table that was taken over, see `HttpRequest`; else empty.
    """

    table_name: str
    stage: Stage
    dirty_shards: int = 16
    emulated_stream: bool = False
    archive_bucket: str = ""
    failure_bucket: str = ""
    object_bucket: str = ""
    project_function: str = ""
    project_mapping: str = ""
    archive_function: str = ""
    job_machine: str = ""
    audit_function: str = ""
    event_queues: Mapping[str, str] = field(default_factory=dict)
    subscriber: str = ""
    event_bus: str = ""
    dead_letter_queue: str = ""
    aws_lambda_function_name: str = ""
    dashboard: str = ""
    settle_seconds: int = 0
    scan_units: int = 0
    rebuild_units: int = 0
    verify_percent: int = 0
    upload_seconds: int = UPLOAD_SECONDS
    api_url: str = ""
    filter_spread_seconds: int = 0
    retirement_seconds: int = 0
    heartbeat_seconds: int = 0
    bounds: RequestBounds = UNBOUNDED
    domain_package: str = "domains"
    migration_package: str = ""
    claim_names: ClaimNames = COGNITO_CLAIMS
    tenant_limits: TenantLimits | None = None
    lock_file: Path = LOCK_FILE
    console: Mapping[str, str] | None = None
    table_lineage: str = ""

    @classmethod
    def parse(cls, environ: Mapping[str, str], *needed: str) -> Settings:
        """Read the environment. ``needed`` names the variables that this function requires.

        Raises:
            SettingsError: names every variable that is missing or wrong.
        """
        wrong = [
            f"{name} is missing"
            for name in ("TABLE_NAME", "STAGE", *needed)
            if not environ.get(name)
        ]
        stage = _parse_one_of(environ, "STAGE", get_args(Stage), "local", wrong)
        emulated = _parse_one_of(environ, "EMULATED_STREAM", ("true", "false"), "false", wrong)
        if emulated == "true" and stage != "local":
            wrong.append("EMULATED_STREAM is for STAGE local only")
        console = _parse_one_of(environ, "CONSOLE", ("true", "false"), "true", wrong)
        given: dict[str, Any] = {name: environ.get(name) for name in ("TABLE_NAME", *_TEXTS)}
        for name, most in _NUMBERS.items():
            given[name] = _parse_number(environ, name, most, wrong)
        upload = given["UPLOAD_SECONDS"]
        if upload > UPLOAD_SECONDS:
            wrong.append(f"UPLOAD_SECONDS is {upload}; it is at most {UPLOAD_SECONDS}")
        bounds = {name: _parse_number(environ, name.upper(), None, wrong) for name in _BOUNDS}
        limits = _parse_limits(environ, wrong)
        if wrong:
            raise SettingsError("; ".join(wrong))
        return cls(
            **{name.lower(): value for name, value in given.items() if value},
            stage=stage,  # type: ignore[arg-type]  # checked against Stage before
            emulated_stream=emulated == "true",
            claim_names=_read_claim_names(environ),
            tenant_limits=limits,
            event_queues=_read_queues(environ),
            lock_file=CODE / (environ.get("LOCK_FILE") or LOCK_FILE_NAME),
            bounds=replace(UNBOUNDED, **{name: bound for name, bound in bounds.items() if bound}),
            console=_read_console(environ) if console == "true" else None,
        )

    def list_api_options(self) -> dict[str, Any]:
        """The settings that the API itself takes, by its names of them."""
        names = ("console", "claim_names", "bounds")
        own = {"server": self.api_url, "lineage": self.table_lineage}
        return {**own, **{name: getattr(self, name) for name in names}}

    def check_filter_spread(self) -> int:
        """How long a release waits before its first heartbeat, in seconds.

        Raises:
            SettingsError: it is shorter than Lambda takes to use a changed event filter everywhere.
        """
        spread = self.filter_spread_seconds
        if self.stage != "local" and spread < MIN_FILTER_SPREAD_S:
            raise SettingsError(
                f"FILTER_SPREAD_SECONDS is {spread}, less than {MIN_FILTER_SPREAD_S}: Lambda may "
                "use an earlier event filter for so long, which drops records for good"
            )
        return spread


def _read_claim_names(environ: Mapping[str, str]) -> ClaimNames:
    return ClaimNames(
        environ.get("TENANT_CLAIM") or COGNITO_CLAIMS.tenant,
        tuple(environ.get("GROUPS_CLAIMS", "").split()) or COGNITO_CLAIMS.groups,
    )


def _parse_limits(environ: Mapping[str, str], wrong: list[str]) -> TenantLimits | None:
    text = environ.get("TENANT_LIMITS")
    try:
        return TenantLimits.parse(text) if text else None
    except ValueError as error:
        wrong.append(f"TENANT_LIMITS: {error}")
        return None


def _read_queues(environ: Mapping[str, str]) -> Mapping[str, str]:
    """The URL of each queue of events: of the bus alone as text, of subscribers as JSON."""
    of_bus = environ.get("EVENT_QUEUE")
    of_subscribers: Mapping[str, str] = json.loads(environ.get("SUBSCRIBER_QUEUES") or "{}")
    return {**({"": of_bus} if of_bus else {}), **of_subscribers}


def _read_console(environ: Mapping[str, str]) -> Mapping[str, str]:
    names = [name for name in environ if name.startswith(_CONSOLE)]
    given = {name.removeprefix(_CONSOLE).lower(): environ[name] for name in names}
    return {**given, "stage": environ["STAGE"]}


def _parse_one_of(
    environ: Mapping[str, str], name: str, choices: tuple[str, ...], default: str, wrong: list[str]
) -> str:
    value = environ.get(name) or default
    if value not in choices:
        wrong.append(f"{name} is {value!r}, not one of {', '.join(choices)}")
    return value


def _parse_number(environ: Mapping[str, str], name: str, most: int | None, wrong: list[str]) -> int:
    """A number from 1; 0 if the variable is not set, or is wrong."""
    value = environ.get(name)
    if not value:
        return 0
    is_number = value.isascii() and value.isdigit()
    if is_number and int(value) >= 1 and (most is None or int(value) <= most):
        return int(value)
    wrong.append(f"{name} is {value!r}, not a number from 1{f' to {most}' if most else ''}")
    return 0
