"""The how-to page lists the permissions that the calls of the command need."""

from __future__ import annotations

import re

from daicho_cli.smoke.settings.checker import READINGS
from daicho_cli.smoke.settings.readings import Reading
from tests.support.repository import ROOT

PAGE = ROOT / "docs/how-to/smoke-test.md"
PREFIXES = {"stepfunctions": "states"}
OTHER_NAMES = {
    "get_bucket_encryption": "s3:GetEncryptionConfiguration",
    "get_bucket_lifecycle_configuration": "s3:GetLifecycleConfiguration",
    "get_public_access_block": "s3:GetBucketPublicAccessBlock",
    "get_bucket_cors": "s3:GetBucketCORS",
}
"""Actions that are not called like their operation ("Service Authorization Reference")."""
OTHERS = {
    *(f"cloudformation:{name}" for name in ("DescribeStacks", "GetTemplate", "ListStackResources")),
    *("dynamodb:GetItem", "dynamodb:UpdateItem", "s3:GetObject", "s3:ListBucket"),
    *(f"cognito-idp:Admin{name}" for name in ("CreateUser", "SetUserPassword", "DeleteUser")),
    *("cognito-idp:AdminAddUserToGroup", "cognito-idp:AdminInitiateAuth"),
    "cognito-idp:CreateGroup",
    *("kms:Decrypt", "kms:GenerateDataKey"),
}


def name_action(reading: Reading) -> str:
    if reading.service == "apigatewayv2":
        return "apigateway:GET"
    words = "".join(word.title() for word in reading.operation.split("_"))
    prefix = PREFIXES.get(reading.service, reading.service)
    return OTHER_NAMES.get(reading.operation, f"{prefix}:{words}")


def test_the_page_lists_every_action_and_no_others() -> None:
    needed = {name_action(reading) for readings in READINGS.values() for reading in readings}
    listed = set(re.findall(r"`([a-z0-9-]+:[A-Z]\w+)`", PAGE.read_text("utf-8")))
    assert listed == needed | OTHERS
