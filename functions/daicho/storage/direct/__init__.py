"""Requests to DynamoDB without the steps of the SDK that cost most of a call."""
