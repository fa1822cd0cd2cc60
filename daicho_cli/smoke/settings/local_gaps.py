"""The settings that the local AWS drops, so that they cannot be compared there.

A test on the local stack shows that each of them really differs: one that the local AWS keeps some
day has to leave this list.
"""

from __future__ import annotations

DROPPED = frozenset(
    {
        ("AWS::ApiGatewayV2::Stage", "burst of requests"),
        ("AWS::ApiGatewayV2::Stage", "requests a second"),
        ("AWS::DynamoDB::Table", "time to live"),
        ("AWS::Lambda::EventSourceMapping", "tumbling window in seconds"),
        ("AWS::S3::Bucket", "lifecycle"),
        ("AWS::StepFunctions::StateMachine", "log level"),
        ("AWS::StepFunctions::StateMachine", "tracing"),
    }
)
"""The resource type and the name of the setting."""
