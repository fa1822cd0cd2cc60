"""Acknowledged cdk-nag findings, each with its reason, beside the construct that it concerns."""

from aws_cdk import Acknowledgment, Validations
from constructs import IConstruct


def suppress_finding(construct: IConstruct, *, rule: str, reason: str) -> None:
    """Acknowledge one finding, and only that one.

    ``rule`` is the rule's short name, with the finding in brackets where a rule has several:
    ``IAM5[Resource::*]``.
    """
    _acknowledge(construct, f"AwsSolutions::AwsSolutions-{rule}", reason)


def suppress_warning(construct: IConstruct, *, rule: str, reason: str) -> None:
    """Acknowledge one warning of CloudFormation's own checks: ``W2530``."""
    _acknowledge(construct, f"CloudFormation-Validate::{rule}", reason)


def _acknowledge(construct: IConstruct, id: str, reason: str) -> None:
    Validations.of(construct).acknowledge(Acknowledgment(id=id, reason=reason))
