"""Acknowledged cdk-nag findings, each with its reason, at the construct that it concerns."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def suppress_finding(construct: IConstruct, *, rule: str, reason: str) -> None:
    """Acknowledge one finding, and only that one.

    ``rule`` is the rule's short name, with the finding in brackets where a rule has several:
    ``IAM5[Resource::*]``.
    """
    id = f"AwsSolutions::AwsSolutions-{rule}"
    Validations.of(construct).acknowledge(Acknowledgment(id=id, reason=reason))
