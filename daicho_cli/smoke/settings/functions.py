"""The functions and the event source mappings that invoke them with the stream's records."""

from __future__ import annotations

from daicho_cli.smoke.settings.readings import Reading, Setting, same

_PATTERNS = "sorted({at}FilterCriteria.Filters[].parse_json(Pattern))"
_NO_PROBLEM = "no problem"

_MAPPING = Reading(
    "lambda",
    "get_event_source_mapping",
    {"UUID": "id"},
    (
        Setting("state", "'Enabled'", "State"),
        Setting(
            "last result",
            f"'{_NO_PROBLEM}'",
            "starts_with(LastProcessingResult || '', 'PROBLEM') && LastProcessingResult || "
            f"'{_NO_PROBLEM}'",
        ),
        Setting("filters", _PATTERNS.format(at="properties."), _PATTERNS.format(at="")),
        Setting("source", "properties.EventSourceArn", "EventSourceArn"),
        Setting("function", "properties.FunctionName", "after_last(FunctionArn || '', ':')"),
        same("batch size", "BatchSize"),
        same("batching window in seconds", "MaximumBatchingWindowInSeconds"),
        same("tumbling window in seconds", "TumblingWindowInSeconds"),
        same("parallelization factor", "ParallelizationFactor"),
        same("bisection of failed batches", "BisectBatchOnFunctionError"),
        same("retries", "MaximumRetryAttempts"),
        same("age of a record in seconds", "MaximumRecordAgeInSeconds"),
        same("destination of failed records", "DestinationConfig.OnFailure.Destination"),
        same("response types", "FunctionResponseTypes"),
        same("starting position", "StartingPosition"),
    ),
)

READINGS_BY_TYPE = {
    "AWS::Lambda::EventSourceMapping": (_MAPPING,),
    "AWS::Lambda::Function": (
        Reading(
            "lambda",
            "get_function_configuration",
            {"FunctionName": "id"},
            (
                Setting("state", "'Active'", "State || 'Active'"),
                Setting("last update", "'Successful'", "LastUpdateStatus || 'Successful'"),
                same("runtime", "Runtime"),
                same("handler", "Handler"),
                same("memory in MB", "MemorySize"),
                same("timeout in seconds", "Timeout"),
                same("architecture", "Architectures"),
                same("tracing", "TracingConfig.Mode"),
                same("environment", "Environment.Variables"),
                # The layer with the lock file is chosen by the release: its version is not in the
                # template.
                Setting(
                    "number of layers",
                    "length(properties.Layers || `[]`)",
                    "length(Layers || `[]`)",
                ),
                same("log format", "LoggingConfig.LogFormat"),
                same("log group", "LoggingConfig.LogGroup"),
            ),
        ),
        Reading(
            "lambda",
            "get_function_concurrency",
            {"FunctionName": "id"},
            (
                Setting(
                    "reserved concurrency",
                    "properties.ReservedConcurrentExecutions || 'none'",
                    "ReservedConcurrentExecutions == `null` && 'none' || "
                    "ReservedConcurrentExecutions",
                ),
            ),
            absent=("ResourceNotFoundException",),
        ),
    ),
    "AWS::Lambda::EventInvokeConfig": (
        Reading(
            "lambda",
            "get_function_event_invoke_config",
            {"FunctionName": "properties.FunctionName", "Qualifier": "properties.Qualifier"},
            (
                same("retries of asynchronous calls", "MaximumRetryAttempts"),
                same("age of an asynchronous call in seconds", "MaximumEventAgeInSeconds"),
            ),
        ),
    ),
}
