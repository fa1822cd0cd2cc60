"""The trigger of the user pool: adds tenant and roles to access tokens."""

from __future__ import annotations

from aws_cdk import Duration
from constructs import Construct

from daicho.cdk.api_access import CognitoPool, name_claims
from daicho.cdk.functions.grants import TOKENS
from daicho.cdk.functions.python_function import PythonFunction, SharedResources

# Cognito waits 5 seconds for a trigger, and then refuses the sign-in.
TIMEOUT = Duration.seconds(5)


def build_token_trigger(scope: Construct, *, shared: SharedResources) -> PythonFunction | None:
    """The function that the user pool calls before it signs a token; None if it needs none."""
    identity = shared.settings.identity
    if not isinstance(identity, CognitoPool) or not identity.has_trigger:
        return None
    return PythonFunction(
        scope,
        "Tokens",
        name="tokens",
        shared=shared,
        permissions=TOKENS,
        timeout=TIMEOUT,
        environment=name_claims(identity),
    )
