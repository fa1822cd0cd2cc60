"""The template of a deployed stack, with the physical names of its resources in it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

ARNS = {
    "AWS::DynamoDB::Table": "arn:{partition}:dynamodb:{region}:{account}:table/{id}",
    "AWS::Cognito::UserPool": "arn:{partition}:cognito-idp:{region}:{account}:userpool/{id}",
    "AWS::Lambda::Function": "arn:{partition}:lambda:{region}:{account}:function:{id}",
    "AWS::Logs::LogGroup": "arn:{partition}:logs:{region}:{account}:log-group:{id}:*",
    "AWS::S3::Bucket": "arn:{partition}:s3:::{id}",
    "AWS::KMS::Key": "arn:{partition}:kms:{region}:{account}:key/{id}",
    "AWS::SNS::Topic": "{id}",
    "AWS::StepFunctions::StateMachine": "{id}",
}
"""The ARN of a resource by its type: a template names it by ``Fn::GetAtt``."""
VARIABLE = re.compile(r"\$\{([^!}][^}]*)\}")


UNKNOWN = "<unknown> "
"""The beginning of what replaces an expression whose value only the deployment knew."""


@dataclass(frozen=True)
class Resource:
    """A resource of a template: its type, its names, and its properties as they are written."""

    logical_id: str
    type: str
    id: str
    properties: Mapping[str, Any]


@dataclass(frozen=True)
class DeployedTemplate:
    """A template with what its expressions are resolved by.

    ``stack_id``: the ARN of the stack. ``names``: the physical ids of resources by their logical
    ids. ``attributes``: other attributes of resources (``Table.StreamArn``).
    """

    document: Mapping[str, Any]
    stack_id: str
    names: Mapping[str, str]
    attributes: Mapping[str, str] = field(default_factory=dict)

    @cached_property
    def pseudo_parameters(self) -> Mapping[str, str]:
        """The parameters that every template has, by name."""
        _, partition, _, region, account, name = self.stack_id.split(":", 5)
        return {
            "AWS::Partition": partition,
            "AWS::Region": region,
            "AWS::AccountId": account,
            "AWS::StackName": name.split("/")[1],
            "AWS::StackId": self.stack_id,
            "AWS::URLSuffix": "amazonaws.com",
        }

    @property
    def stack(self) -> str:
        """The name of the stack."""
        return self.pseudo_parameters["AWS::StackName"]

    @cached_property
    def resources(self) -> tuple[Resource, ...]:
        """All resources that are deployed, in the order of the template."""
        return tuple(
            Resource(name, entry["Type"], self.names[name], entry.get("Properties", {}))
            for name, entry in self.document["Resources"].items()
            if name in self.names
        )

    def resolve(self, value: Any) -> Any:
        """A value of the template with all its expressions replaced; see `UNKNOWN`."""
        if isinstance(value, list):
            return [self.resolve(each) for each in value]
        if not isinstance(value, dict):
            return value
        if len(value) == 1:
            ((name, argument),) = value.items()
            if name == "Ref" or name.startswith("Fn::"):
                return self._apply(name, argument)
        return {key: self.resolve(each) for key, each in value.items()}

    def _apply(self, name: str, argument: Any) -> Any:
        match name, argument:
            case "Ref", str(logical_id):
                return self._refer(logical_id)
            case "Fn::GetAtt", [str(logical_id), str(attribute)]:
                return self._get_attribute(logical_id, attribute)
            case "Fn::Join", [str(separator), list(parts)]:
                return separator.join(str(self.resolve(part)) for part in parts)
            case "Fn::Select", [index, choices]:
                return self.resolve(choices)[int(index)]
            case "Fn::Split", [str(separator), text]:
                return str(self.resolve(text)).split(separator)
            case "Fn::Sub", str(text):
                return VARIABLE.sub(lambda found: self._substitute(found[1]), text)
        return f"{UNKNOWN}{name} {json.dumps(argument)}"

    def _substitute(self, name: str) -> str:
        logical_id, _, attribute = name.partition(".")
        return self._get_attribute(logical_id, attribute) if attribute else self._refer(name)

    def _refer(self, name: str) -> str:
        if name in self.pseudo_parameters:
            return self.pseudo_parameters[name]
        if name in self.names:
            return self.names[name]
        return f"{UNKNOWN}{name}"

    def _get_attribute(self, logical_id: str, attribute: str) -> Any:
        given = self.attributes.get(f"{logical_id}.{attribute}")
        if given is not None:
            return given
        entry = self.document["Resources"].get(logical_id, {})
        pattern = ARNS.get(entry.get("Type", ""))
        if attribute == "Arn" and pattern and logical_id in self.names:
            return pattern.format(
                partition=self.pseudo_parameters["AWS::Partition"],
                region=self.pseudo_parameters["AWS::Region"],
                account=self.pseudo_parameters["AWS::AccountId"],
                id=self.names[logical_id],
            )
        return f"{UNKNOWN}{logical_id}.{attribute}"


def is_unknown(value: Any) -> bool:
    """Whether only the deployment knew a value, or a part of a text."""
    return isinstance(value, str) and UNKNOWN in value


def is_same(wanted: Any, found: Any) -> bool:
    """Whether two values are equal but for what is unknown of the wanted one."""
    if is_unknown(wanted):
        return True
    if isinstance(wanted, dict) and isinstance(found, dict):
        return wanted.keys() == found.keys() and all(
            is_same(value, found[key]) for key, value in wanted.items()
        )
    return bool(wanted == found)
