"""The release: what is checked before any function changes, and before code may write."""

from __future__ import annotations

import hashlib
import json

from aws_cdk import Aws, CustomResource, Duration
from aws_cdk import aws_iam as iam
from constructs import Construct

from daicho.cdk.functions import grants
from daicho.cdk.functions.python_function import PythonFunction, SharedResources, forbid_retries
from daicho.cdk.settings import REBUILD_UNITS
from daicho.plan import Ledger

# All that Lambda gives: heartbeats wait for a projector that is late.
TIMEOUT = Duration.minutes(15)
SOURCE = "Source"  # an attribute of ``check``
# CloudFormation gives up a little later. A function that cannot be loaded never answers.
ANSWERED_WITHIN = Duration.minutes(16)


class Release(Construct):
    """A function, and three steps in which CloudFormation invokes it (EXACTNESS rules 26 to 28).

    ``check`` is before all other functions, ``open`` after the stream consumers and before the
    API, ``finish`` after the API.
    CloudFormation repeats them only if the lock file changes, the generation that the code writes,
    or the table.

    ``source``: where the functions find their ledger: an ARN of a layer, or a folder at stage
    local. ``check`` chooses it: after a failed update the older code gets the newer ledger.
    """

    def __init__(
        self, scope: Construct, id: str, *, ledger: Ledger, shared: SharedResources
    ) -> None:
        """Create the function and its steps. The caller orders them by dependencies."""
        super().__init__(scope, id)
        settings = shared.settings
        spread, retirement = settings.filter_spread_seconds, settings.retirement_seconds
        self.python = PythonFunction(
            self,
            "Release",
            name="release",
            shared=shared,
            permissions=grants.RELEASE,
            timeout=TIMEOUT,
            environment={
                "EMULATED_STREAM": str(settings.is_local).lower(),
                **({"FILTER_SPREAD_SECONDS": str(spread)} if spread else {}),
                **({"RETIREMENT_SECONDS": str(retirement)} if retirement else {}),
            },
        )
        self.python.allow("dynamodb", grants.STREAM_DESCRIBE, shared.stream)
        self.python.allow("cloudformation", grants.STACK_DESCRIBE, Aws.STACK_ID)
        # A step that crashed must not run on after CloudFormation has given up.
        forbid_retries(self, self.python.function)
        self._properties = {
            "Source": shared.ledger_source,
            "Stream": shared.stream,
            "Written": json.dumps(dict(ledger.written), sort_keys=True),
            "Ledger": _hash_ledger(ledger),
        }
        self.check = self._create_step("check")
        self.open = self._create_step("open")
        self.open.node.add_dependency(self.check)
        self.source = self.check.get_att_string(SOURCE)

    def add_finish(self, state_machine: str) -> CustomResource:
        """The step after the API: it starts a rebuild of what the release changes.

        ``state_machine``: the ARN of the state machine of jobs.
        """
        # Not in the role's own policy: the machine's function is updated after ``check``, which
        # needs that policy.
        policy = iam.Policy(
            self,
            "StartPolicy",
            roles=[self.python.role],
            statements=[
                iam.PolicyStatement(
                    actions=[f"states:{action}" for action in grants.START],
                    resources=[state_machine],
                )
            ],
        )
        step = self._create_step("finish", Machine=state_machine, Rate=str(REBUILD_UNITS))
        step.node.add_dependency(policy, self.open)
        return step

    def _create_step(self, step: str, **more: str) -> CustomResource:
        resource = CustomResource(
            self,
            step.capitalize(),
            service_token=self.python.function.function_arn,
            resource_type=f"Custom::Daicho{step.capitalize()}",
            service_timeout=ANSWERED_WITHIN,
            properties={"Step": step, **self._properties, **more},
        )
        # The function needs its permissions, which CloudFormation may create later.
        resource.node.add_dependency(self.python)
        return resource


def _hash_ledger(ledger: Ledger) -> str:
    text = json.dumps(ledger.to_json(), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
