"""Names of log groups to which API Gateway and Step Functions deliver logs."""

from __future__ import annotations

from aws_cdk import Aws, Fn


def name_log_group(service: str, name: str) -> str:
    """The name of a log group, which ends with the stack's id: ``/aws/vendedlogs/states/Shop-…``.

    The prefix keeps the account's resource policy for log delivery short: each group with another
    name is added to it, up to 5,120 characters (Amazon CloudWatch Logs User Guide, "Enable logging
    from AWS services"). The id differs between two creations of a stack. So a log group
    that outlived its stack, at stages that retain logs, does not prevent the next creation.
    """
    return f"/aws/vendedlogs/{service}/{name}-{Fn.select(2, Fn.split('/', Aws.STACK_ID))}"
