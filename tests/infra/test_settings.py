import dataclasses
from dataclasses import replace
from pathlib import Path
from typing import Any

import aws_cdk as cdk
import pytest

from daicho.cdk import STAGES, CognitoPool, Machine, OwnIssuer, Settings
from daicho.cdk.context_options import NO_TOPIC
from daicho.errors import SettingsError
from daicho.runtime.settings import MIN_FILTER_SPREAD_S
from daicho.runtime.settings import Settings as FunctionSettings
from tests.infra.synthesis import TOPIC, synthesise
from tests.support.how_to_page import HowToPage
from tests.support.repository import ROOT

MAX_SETTINGS = 45
CERTIFICATE = "arn:aws:acm:us-east-1:123456789012:certificate/0a-1b"
CUSTOM_DOMAIN = {"domain_name": "api.example.com", "certificate_arn": CERTIFICATE}
OWN = {
    "issuer": "https://login.example.com",
    "audience": "api",
    "tenant_claim": "org",
    "groups_claim": "groups",
}


def read(**context: Any) -> Settings:
    return Settings.from_context(context.get)


def test_without_a_stage_it_is_dev() -> None:
    assert read().stage == "dev"
    assert read().account is None


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("warm-throughput", "warm_throughput"),
        ("warmThroughput", "warm_throughput"),
        ("warm_throughptu", "warm_throughput"),
        ("WARM_THROUGHPUT", "warm_throughput"),
        ("alarm_mail", "alarm_email"),
        ("stages", "stage"),
        ("warmthroughput", "warm_throughput"),
        ("tenant-claim", "tenant_claim"),
    ],
)
def test_a_misspelt_option_is_an_error(name: str, meant: str) -> None:
    with pytest.raises(SettingsError, match=f"{name} is no option; write {meant}"):
        read(**{name: "true"})
    app = cdk.App(context={name: "true"}, analytics_reporting=False)
    with pytest.raises(SettingsError, match=f"{name} is no option; write {meant}"):
        Settings.from_context(app.node.try_get_context)


@pytest.mark.parametrize(
    "name", ["demonstration", "@aws-cdk/core:x", "aws:cdk:bundling-stacks", "colour", "team"]
)
def test_other_names_of_the_context_are_left_to_the_app(name: str) -> None:
    assert read(**{name: "true"}) == read()
    app = cdk.App(context={name: "true"}, analytics_reporting=False)
    assert Settings.from_context(app.node.try_get_context) == read()


def test_options_of_a_stage_in_the_file() -> None:
    of_file = {"dev": {"alarm_email": "a@b.example", "warm_throughput": True, "console": False}}
    found = read(**of_file)
    assert (found.alarm_email, found.warm_throughput, found.console) == ("a@b.example", True, False)
    assert read(**of_file, alarm_email="c@d.example").alarm_email == "c@d.example"
    assert read(prod={"alarm_email": "a@b.example"}) == read(), "another stage's"
    app = cdk.App(context=of_file, analytics_reporting=False)
    assert Settings.from_context(app.node.try_get_context) == found
    for wrong in ({"alarm_mail": "a@b.example"}, "yes"):
        with pytest.raises(SettingsError, match=r"alarm_mail is no option|dev is 'yes', not an"):
            read(dev=wrong)


def test_days_that_cloudwatch_cannot_keep_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="log_days is 15; it can be 1, 3, 5, 7, 14, 30"):
        synthesise("dev", tmp_path, log_days=15)


def test_outside_of_stage_local_a_release_waits_until_no_earlier_event_filter_is_used() -> None:
    spreads = {name: settings.filter_spread_seconds for name, settings in STAGES.items()}
    assert spreads == {
        "local": None,
        "dev": MIN_FILTER_SPREAD_S,
        "trial": MIN_FILTER_SPREAD_S,
        "prod": MIN_FILTER_SPREAD_S,
    }
    assert MIN_FILTER_SPREAD_S >= 90


def test_options_come_from_the_context() -> None:
    settings = read(stage="prod", account="123456789012", region="eu-west-1", alarm_email="a@b.c")
    assert (settings.account, settings.region) == ("123456789012", "eu-west-1")
    assert settings.alarm_email == "a@b.c"
    assert settings.retain
    assert not settings.warm_throughput
    assert read(warm_throughput="true").warm_throughput
    assert read(warm_throughput="true").warm_throughput
    assert not read(warm_throughput="").warm_throughput
    settings = read(stage="prod", alarm_topic=NO_TOPIC)
    settings.check()
    assert read(stage="prod", alarm_topic=TOPIC).alarm_topic == TOPIC


def test_production_needs_somebody_whom_alarms_notify() -> None:
    with pytest.raises(SettingsError, match=r"set alarm_email .* or alarm_topic .* SNS topic"):
        read(stage="prod")
    read(stage="dev").check()


def test_the_projector_waits_as_long_as_the_stage_or_the_option_says() -> None:
    assert [STAGES[stage].project_window_seconds for stage in ("local", "dev", "prod")] == [0, 1, 1]
    assert read().project_window_seconds == 1
    assert read(project_window_seconds="5").project_window_seconds == 5
    assert read(project_window_seconds=0).project_window_seconds == 0


def test_memory_of_an_unknown_function_is_refused() -> None:
    with pytest.raises(SettingsError, match="memory has projector; the functions are api, project"):
        replace(STAGES["dev"], memory={"projector": 1024}).check()


def test_reserved_concurrency_is_of_functions_and_leaves_the_others_enough() -> None:
    replace(STAGES["dev"], reserved_concurrency={"project": 40}).check()
    wrong_ones = ({"projector": 1}, {"subscribe": 1}, {"project": 0}, {"api": 900, "project": 1})
    for wrong in wrong_ones:
        with pytest.raises(SettingsError, match="reserved_concurrency"):
            replace(STAGES["dev"], reserved_concurrency=wrong).check()


def test_who_signs_tokens_comes_from_the_context() -> None:
    own = read(**{**OWN, "audience": "api, jobs"}).identity
    assert own == OwnIssuer(
        issuer="https://login.example.com",
        audience=("api", "jobs"),
        tenant_claim="org",
        groups_claim="groups",
    )
    pool = read(
        tenant_claim="custom:org", access_tokens="true", machines="billing:acme:a+b,report:globex"
    ).identity
    assert pool == CognitoPool(
        tenant_claim="custom:org",
        access_tokens=True,
        machines=(
            Machine(name="billing", tenant="acme", roles=("a", "b")),
            Machine(name="report", tenant="globex"),
        ),
    )
    assert read().identity == CognitoPool()


def test_a_list_is_text_with_commas_or_json() -> None:
    own = read(**{**OWN, "audience": " my api ,jobs"}).identity
    assert isinstance(own, OwnIssuer)
    assert own.audience == ("my api", "jobs")
    pool = read(machines=["billing:acme", "report:globex"], access_tokens=True).identity
    assert pool == read(machines="billing:acme,report:globex", access_tokens="true").identity
    assert read(cors_origins=["https://a.example"]).cors_origins == ("https://a.example",)


@pytest.mark.parametrize("email", ["oncall", "a@b", "a b@c.de", "a@b.c,d@e.f", "A <a@b.c>"])
def test_alarms_notify_an_address(email: str) -> None:
    with pytest.raises(SettingsError, match=r"^alarm_email is '.*', not an address such as "):
        read(alarm_email=email)


@pytest.mark.parametrize(
    ("context", "message"),
    [
        ({"stage": "production"}, "stage is 'production'; the stages are local, dev, trial, prod"),
        (
            {"stage": "local", "local_layer": "/layer"},
            "stage local needs local_ledger, api_url: deploy it with daicho local up (make up), "
            "which passes them",
        ),
        ({"stage": "dev", "api_url": "http://x"}, "api_url is for stage local only"),
        ({"alarm_topic": "oncall"}, "alarm_topic is 'oncall', not the ARN of a standard SNS topic"),
        (
            {"alarm_topic": f"{TOPIC}.fifo"},
            f"alarm_topic is '{TOPIC}.fifo', not the ARN of a standard SNS topic",
        ),
        (
            {"alarm_topic": TOPIC, "account": "123456789012", "region": "eu-central-1"},
            "alarm_topic is in eu-west-1, and the alarms are in eu-central-1",
        ),
        ({"stage": "dev", "faults": "0.2"}, "faults is for stage local only"),
        (
            {"stage": "local", "local_layer": "/l", "local_ledger": "/g", "api_url": "/"}
            | {"warm_throughput": "true"},
            "warm_throughput is for stages of an account only",
        ),
        ({"faults": "many"}, "faults is 'many', not a number between 0 and 1"),
        ({"faults": "1"}, "faults is '1', not a number between 0 and 1"),
        ({"account": "123456789012"}, "account and region go together"),
        (
            {"cors_origins": "*, https://a.example/ ,https://B.example,https://a.example:443"},
            "cors_origins has '*': list each origin, no pattern; cors_origins has "
            "'https://a.example/'; an origin is https://host, in lower case, no path; cors_origins "
            "has 'https://B.example'; an origin is https://host, in lower case, no path; "
            "cors_origins has 'https://a.example:443': a browser leaves the default port out",
        ),
        ({"domain_name": "a.example"}, "domain_name and certificate_arn go together"),
        ({"hosted_zone_id": "Z1"}, "hosted_zone_id needs domain_name"),
        (
            {"domain_name": "https://a.example/", "certificate_arn": "arn:aws:iam::1:x"},
            "domain_name is 'https://a.example/', no host name in lower case; "
            "certificate_arn is 'arn:aws:iam::1:x', no ARN of an ACM certificate",
        ),
        (
            {
                **CUSTOM_DOMAIN,
                "hosted_zone_id": "example.com",
                "account": "1",
                "region": "eu-west-1",
            },
            "the certificate is in us-east-1; a Regional API needs one in eu-west-1; "
            "hosted_zone_id is 'example.com', which is not a hosted zone ID",
        ),
        (
            {
                "stage": "local",
                "local_layer": "/a",
                "local_ledger": "/b",
                "api_url": "u",
                **CUSTOM_DOMAIN,
            },
            "domain_name is not for stage local",
        ),
        (
            {"issuer": "https://a.example"},
            "an issuer of your own needs audience; an issuer of your own needs tenant_claim; "
            "an issuer of your own needs groups_claim",
        ),
        (
            {**OWN, "issuer": "http://a.example", "machines": "billing:acme"},
            "machines is for a user pool, not for an issuer; issuer is 'http://a.example'; "
            "it is the https URL in the claim iss of a token",
        ),
        (
            {**OWN, "issuer": "https://a.example/.well-known/openid-configuration"},
            "issuer is 'https://a.example/.well-known/openid-configuration'; "
            "leave /.well-known/… out: API Gateway appends it",
        ),
        (
            {**OWN, "issuer": "https://a.example?x=1"},
            "issuer is 'https://a.example?x=1'; it has neither a query, a fragment nor a user",
        ),
        (
            {**OWN, "audience": " , ", "tenant_claim": "a b"},
            "audience is empty: name what the tokens for this API have as aud or client_id; "
            "tenant_claim is 'a b', which is not a valid claim name",
        ),
        (
            {**OWN, "stage": "local", "local_layer": "/a", "local_ledger": "/b", "api_url": "u"},
            "an issuer of your own is not for stage local, whose users are in its user pool",
        ),
        (
            {"tenant_claim": "tenant"},
            "tenant_claim is 'tenant'; in a user pool it is custom: and up to 20 letters, digits "
            "and underscores",
        ),
        (
            {"machines": "billing, b-1:acme, report:ACME:a/b, audit:acme, audit:acme"},
            "machines has 'billing'; a machine is name:tenant or name:tenant:role+role; "
            "machine billing: '' is no name of a tenant; "
            "a machine is called 'b-1', not 1 to 32 of a-z and 0-9, a letter first; "
            "machine report: 'ACME' is no name of a tenant; "
            "machine report: 'a/b' is no name of a role; machine audit is given twice",
        ),
        (
            {"machines": ",".join(f"m{n}:acme" for n in range(49))},
            "there are 49 machines; at most 48",
        ),
        (
            {"machines": "m:acme:" + "+".join(f"r{n}" for n in range(100))},
            "machines have 101 tenants and roles; Cognito takes 100",
        ),
        ({"tenant_claim": "custom:role"}, "tenant_claim is 'custom:role', which contains roles"),
        (
            {"tenant_claim": "custom:org", "groups_claim": "custom:org"},
            "tenant_claim is 'custom:org', which contains roles",
        ),
        ({**OWN, "tenant_claim": "groups"}, "tenant_claim is 'groups', which contains roles"),
        (
            {"groups_claim": "nickname"},
            "groups_claim is 'nickname', which users can change; choose another claim",
        ),
        (
            {"project_window_seconds": "1.5"},
            "project_window_seconds is '1.5', not a whole number of seconds",
        ),
        (
            {"project_window_seconds": "301"},
            "project_window_seconds is 301; Lambda takes 0 to 300 seconds: use 0 for no delay, or "
            "1 to 5 to collect records",
        ),
        ({"access_tokens": "yes"}, "access_tokens is 'yes', neither true nor false"),
        # Values of cdk.json of any type
        (
            {"project_window_seconds": [1]},
            "project_window_seconds is [1], not a whole number of seconds",
        ),
        (
            {"project_window_seconds": "9" * 5_000},
            f"project_window_seconds is '{'9' * 5_000}', not a whole number of seconds",
        ),
        ({"faults": [0.1]}, "faults is [0.1], not a number between 0 and 1"),
        ({"faults": 10**400}, f"faults is {10**400}, not a number between 0 and 1"),
        ({"warm_throughput": [1]}, "warm_throughput is [1], neither true nor false"),
        ({"stage": ["dev"]}, "stage is ['dev']; the stages are local, dev, trial, prod"),
        *(
            ({name: ["x"]}, f"{name} is ['x'], not a text")
            for name in ("domain_name", "alarm_email", "api_url")
        ),
        ({"account": {}, "region": {"x": 1}}, "region is {'x': 1}, not a text"),
    ],
)
def test_what_is_wrong_is_said_at_once(context: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError) as raised:
        read(**context)
    assert str(raised.value) == message


def test_each_setting_is_on_its_page_and_there_are_few() -> None:
    names = {
        each.name
        for settings in (Settings, CognitoPool, OwnIssuer)
        for each in dataclasses.fields(settings)
    } - {"identity", "name"}  # the project has its name, and the identity its own fields
    page = (ROOT / "docs/reference/settings.md").read_text("utf-8")
    assert [name for name in sorted(names) if f"`{name}`" not in page] == []
    assert len(names) <= MAX_SETTINGS


def test_the_settings_of_the_page_about_sign_in_are_accepted() -> None:
    blocks = [
        block
        for block in HowToPage.read("set-up-sign-in").blocks
        if block.language == "python" and block.mark == "run"
    ]
    found: list[Any] = []
    for block in blocks:
        names: dict[str, Any] = {}
        exec(block.text, names)  # noqa: S102  # code of the repository's own page
        found.append(names["settings"].identity)
    issuer, pool = found
    assert isinstance(issuer, OwnIssuer)
    assert isinstance(pool, CognitoPool)
    assert [machine.name for machine in pool.machines] == ["billing", "report"]


@pytest.mark.parametrize("stage", STAGES)
def test_functions_accept_each_stage(stage: str) -> None:
    assert FunctionSettings.parse({"TABLE_NAME": "t", "STAGE": stage}).stage == stage
