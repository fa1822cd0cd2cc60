"""What a deployed local stack is: its values and users, its sample data, and its first calls.

`daicho_cli.local.lifecycle` imports this module while the local AWS starts: both take seconds.
"""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, cast

from daicho.project import Project
from daicho.runtime.token_claims import OPERATOR
from daicho.web.routes.builder import build_operations
from daicho_cli.aws import EVENT_OUTPUTS
from daicho_cli.local.calls import Call, make_first_call
from daicho_cli.local.environment import REGION
from daicho_cli.local.instance import LocalError, LocalInstance
from daicho_cli.local.users import ADMIN, PASSWORD, TENANTS, make_token, make_tokens, name_user

FUNCTION = "FunctionName"
"""The suffix of the outputs with function names."""
Printer = Callable[[str], None]


def describe(instance: LocalInstance, outputs: dict[str, str]) -> dict[str, object]:
    """The content of the stack file."""
    functions = {
        output.removesuffix(FUNCTION).lower(): name
        for output, name in outputs.items()
        if output.endswith(FUNCTION)
    }
    pool, client_id = outputs["UserPoolId"], outputs["UserPoolClientId"]
    roles = [role for role in instance.project.discover().roles if role != ADMIN]
    cognito = instance.session().client("cognito-idp", endpoint_url=instance.endpoint)
    operator = make_token(cognito, pool, client_id, TENANTS[0], OPERATOR, [ADMIN, *roles])
    return {
        "url": instance.url,
        "tokens": make_tokens(cognito, pool, client_id, roles),
        "admins": make_tokens(cognito, pool, client_id, roles, ADMIN),
        "operator": operator,
        "table": outputs["TableName"],
        "bucket": outputs["ArchiveBucketName"],
        "archive_database": outputs["ArchiveDatabaseName"],
        "archive_table": outputs["ArchiveTableName"],
        "archive_workgroup": outputs["ArchiveWorkgroupName"],
        "failures": outputs["FailureBucketName"],
        "job_machine": outputs["JobMachineArn"],
        "endpoint": instance.endpoint,
        "region": REGION,
        "functions": functions,
        "user_pool": pool,
        "client_id": client_id,
        "events": {name: outputs[name] for name in outputs if name.endswith(EVENT_OUTPUTS)},
    }


class SampleData(Protocol):
    """A module of a project with data for the local stack."""

    CALLS: Sequence[str]
    """Paths of GET requests that have results then."""

    def load(self, instance: LocalInstance, stack: Mapping[str, Any], say: Printer) -> int:
        """Load the data over HTTP, once; the number of new items."""


def find_sample_data(project: Project) -> SampleData | None:
    """The module of sample data that the project names, if it names one.

    Raises:
        LocalError: it does not exist.
    """
    if not project.sample_data:
        return None
    root = str(project.root)
    if root not in sys.path:
        sys.path.insert(0, root)
    try:
        return cast(SampleData, importlib.import_module(project.sample_data))
    except ModuleNotFoundError as error:
        if error.name is None or not f"{project.sample_data}.".startswith(f"{error.name}."):
            raise
        raise LocalError(f"there is no module {project.sample_data} for sample data") from None


def choose_calls(instance: LocalInstance, sample: SampleData | None) -> tuple[Sequence[Call], str]:
    """Calls that have results, and what the first one was answered, if it was sent.

    Raises:
        LocalError: the API does not answer, or fails.
    """
    if sample is not None:
        return [Call("GET", path) for path in sample.CALLS], ""
    operations = build_operations(instance.project.discover())
    return make_first_call(operations, instance.stack())


def render_goodbye(instance: LocalInstance, calls: Sequence[Call], answer: str) -> str:
    """The last output of `make up`: lines that work when pasted.

    ``answer``: what the first call was answered, if it was sent.
    """
    stack = instance.stack()
    tenant, other = list(stack["tokens"])[:2]
    shell_file, file = (
        shlex.quote(str(_render_relative(path, instance.project.root)))
        for path in (instance.shell_file, instance.stack_file)
    )
    lines = "\n".join(f"  {call.render()}" for call in calls)
    first = f"\n  {answer}\n" if answer else ""
    return f"""{first}
{instance.project.name} is up. Paste:

  source {shell_file}

{lines}

That was {tenant}; {other} sees none of it: TOKEN=$OTHER
Both tokens are good for a day; more of them, the table and the bucket are in
{file}. In a browser:

  {stack["url"]}/console
  user {name_user(tenant, OPERATOR)}, password {PASSWORD}
  {stack["url"]}/docs

To stop: make down"""


def _render_relative(path: Path, root: Path) -> Path:
    return path.relative_to(root) if path.is_relative_to(root) else path
