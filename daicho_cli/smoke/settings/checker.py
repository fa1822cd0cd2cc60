"""Compares every setting of a deployed stack with its template, one result for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from daicho_cli.smoke.report import CheckResult, Outcome
from daicho_cli.smoke.settings import alarms, api, buckets, dynamodb, functions, operations
from daicho_cli.smoke.settings.local_gaps import DROPPED
from daicho_cli.smoke.settings.readings import Reading, Setting, evaluate
from daicho_cli.smoke.settings.template import DeployedTemplate, Resource, is_unknown

PARALLEL_CALLS = 4
"""CloudWatch and API Gateway allow few of these calls a second, and botocore waits for them."""

READINGS: Mapping[str, tuple[Reading, ...]] = {
    **dynamodb.READINGS_BY_TYPE,
    **functions.READINGS_BY_TYPE,
    **alarms.READINGS_BY_TYPE,
    **buckets.READINGS_BY_TYPE,
    **api.READINGS_BY_TYPE,
    **operations.READINGS_BY_TYPE,
}
"""The readings of each resource type."""

NOT_COMPARED: Mapping[str, str] = {
    "AWS::ApiGatewayV2::ApiMapping": "the HTTP requests go through it",
    "AWS::ApiGatewayV2::DomainName": "the HTTP requests go through it",
    "AWS::ApiGatewayV2::Integration": "the HTTP requests go through it",
    "AWS::Athena::NamedQuery": "a text for people",
    "AWS::CDK::Metadata": "nothing that runs reads it",
    "AWS::CloudWatch::Dashboard": "a page for people",
    "AWS::Cognito::ManagedLoginBranding": "the style of the login pages",
    "AWS::Cognito::UserPoolDomain": "machine clients and the console sign in there",
    "AWS::Cognito::UserPoolGroup": "the user of this test joins it",
    "AWS::Cognito::UserPoolResourceServer": "machine clients sign in with it",
    "AWS::Glue::Database": "queries of the archive read it",
    "AWS::Glue::Table": "queries of the archive read it",
    "AWS::IAM::Policy": "tests of the template compare grants with calls",
    "AWS::IAM::Role": "tests of the template compare grants with calls",
    "AWS::KMS::Alias": "a name",
    "AWS::Lambda::LayerVersion": "a version never changes",
    "AWS::Lambda::Permission": "the HTTP requests need it",
    "AWS::Route53::RecordSet": "the HTTP requests go through it",
    "AWS::SNS::Subscription": "the topic counts its subscriptions",
    "AWS::SSM::Parameter": "the release writes it",
}
"""Resource types without a reading, with the reason. Custom resources are commands."""

ClientFactory = Callable[[str], Any]


@dataclass(frozen=True)
class SettingsChecker:
    """Reads the settings of one stack.

    ``open_client``: a client of a service by its name; clients are shared by threads.
    """

    template: DeployedTemplate
    open_client: ClientFactory
    is_local: bool = False

    def check(self, kind: str | None = None) -> list[CheckResult]:
        """One result for each setting, in the order of the template.

        ``kind``: only resources of this type. An API call that fails is one failed check, because
        the caller may lack a permission.
        """
        calls = [
            (resource, reading)
            for resource in self.template.resources
            for reading in READINGS.get(resource.type, ())
            if kind is None or resource.type == kind
        ]
        for service in sorted({reading.service for _, reading in calls}):
            self.open_client(service)
        with ThreadPoolExecutor(PARALLEL_CALLS) as pool:
            checked = pool.map(lambda call: list(self.read(*call)), calls)
            results = [result for results in checked for result in results]
        return [*results, *self._list_others()] if kind is None else results

    def read(self, resource: Resource, reading: Reading) -> Iterator[CheckResult]:
        """The results of one API call."""
        scope = {"id": resource.id, "properties": self.template.resolve(dict(resource.properties))}
        wanted = {
            setting: value
            for setting in reading.settings
            if (value := setting.read_wanted(scope)) is not None
        }
        if not wanted:
            return
        arguments = {name: evaluate(each, scope) for name, each in reading.arguments.items()}
        client = self.open_client(reading.service)
        answer: Mapping[str, Any]
        try:
            answer = getattr(client, reading.operation)(**arguments)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            if code not in reading.absent:
                yield self._report_failed_call(resource, reading, code or str(error))
                return
            answer = {}
        for setting, value in wanted.items():
            result = self._compare(resource, setting, value, setting.read_found(answer))
            yield result
            if setting.is_existence and result.outcome is Outcome.FAILED:
                return

    def _report_failed_call(self, resource: Resource, reading: Reading, code: str) -> CheckResult:
        call = f"{reading.service}:{reading.operation}"
        if self.is_local and (resource.type, call) in DROPPED:
            return CheckResult(_render_name(resource), call, Outcome.NOT_KEPT)
        return CheckResult(_render_name(resource), call, Outcome.FAILED, f"the call failed: {code}")

    def _compare(
        self, resource: Resource, setting: Setting, wanted: Any, found: Any
    ) -> CheckResult:
        if self.is_local and (resource.type, setting.name) in DROPPED:
            outcome = Outcome.NOT_KEPT
        elif is_unknown(wanted):
            outcome = Outcome.NOT_CHECKED
        elif setting.is_right(wanted, found):
            outcome = Outcome.PASSED
        else:
            outcome = Outcome.FAILED
        detail = "only the deployment knew the value" if outcome is Outcome.NOT_CHECKED else ""
        return CheckResult(
            _render_name(resource), setting.name, outcome, detail, wanted=wanted, found=found
        )

    def _list_others(self) -> Iterator[CheckResult]:
        """A result for each resource type that is not read."""
        types = {resource.type for resource in self.template.resources}
        for name in sorted(types - set(READINGS)):
            if not name.startswith("Custom::"):
                reason = NOT_COMPARED.get(name, "this command does not know it")
                yield CheckResult(name, "settings", Outcome.NOT_CHECKED, f"{name}: {reason}")


def _render_name(resource: Resource) -> str:
    return f"{resource.type.removeprefix('AWS::')} {resource.logical_id}"
