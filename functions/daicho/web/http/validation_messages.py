"""What Pydantic found in a value, in words for a client: what it should be, and what it is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from daicho.items.json_pairs import describe_decimal_text

MAX_SHOWN = 60
"""Characters of a value that a message shows."""
_DECIMAL = 'Input should be a decimal, as text such as "12.50"'
_DURATION = "Input should be a duration, such as PT1H30M"
_OTHER_TYPE = "Input should be a value of another type"
_NO_DECIMAL = ("decimal_parsing", "decimal_type")
_MESSAGES: Mapping[str, str] = {
    **dict.fromkeys(
        ("dict_type", "model_type", "model_attributes_type", "mapping_type", "dataclass_type"),
        "Input should be an object",
    ),
    **dict.fromkeys(
        ("list_type", "set_type", "frozen_set_type", "tuple_type", "deque_type", "iterable_type"),
        "Input should be an array",
    ),
    **dict.fromkeys(_NO_DECIMAL, _DECIMAL),
    **dict.fromkeys(("time_delta_type", "time_delta_parsing"), _DURATION),
    **dict.fromkeys(("is_instance_of", "is_subclass_of", "callable_type"), _OTHER_TYPE),
    **dict.fromkeys(("complex_type", "complex_str_parsing", "bytes_type"), _OTHER_TYPE),
    **dict.fromkeys(("fraction_type", "fraction_parsing"), "Input should be a number"),
    "bytes_too_short": "Input should have at least {min_length} characters",
    "bytes_too_long": "Input should have at most {max_length} characters",
    "union_tag_not_found": "Input should have a field {discriminator}",
    "uuid_type": "Input should be a UUID",
    "url_type": "Input should be a URL",
    "bytes_invalid_encoding": "Input should be text in base64",
    "set_item_not_hashable": "Input should be an array of texts and numbers",
    "extra_forbidden": "there is no such field: leave it out",
    "none_required": "Input should be null",
    "decimal_max_digits": "Input should have at most {max_digits} digits",
    "decimal_max_places": "Input should have at most {decimal_places} digits after the point",
    "decimal_whole_digits": "Input should have at most {whole_digits} digits before the point",
    "too_short": "Input should have at least {min_length} entries, not {actual_length}",
    "too_long": "Input should have at most {max_length} entries",
    "date_from_datetime_inexact": "Input should be a day, such as 2026-11-21, without a time",
    "timezone_naive": "Input should have no time zone",
    "timezone_aware": "Input should have a time zone, such as 2026-11-21T01:05:40Z",
    "int_parsing_size": "Input should have fewer digits",
    "recursion_loop": "Input should contain fewer levels",
    "recursion_depth_exceeded": "Input should contain fewer levels",
}
"""For the types of errors whose messages name classes of Python, or have other words of it."""
_SAID_BY_VALIDATORS = ("Value error, ", "Assertion failed, ")
_WITHOUT_VALUE = ("missing", "extra_forbidden", "names", "decimal", "float")
"""There is no value, or the message of a type of our own shows it already."""
_JSON_FAULTS = {
    "recursion limit exceeded": "too many levels of arrays and objects",
    "number out of range": "a number with too many digits",
}


def describe_failure(error: Mapping[str, Any], pattern_examples: Mapping[str, str]) -> str:
    """What is wrong with a value, by an error of Pydantic.

    ``pattern_examples``: text that matches a pattern, by the pattern. The value is in the message
    if the error has it, it is no array or object, and the message needs it.
    """
    kind, written = error["type"], error.get("input")
    if kind in (*_NO_DECIMAL, "finite_number") and isinstance(written, str):
        return describe_decimal_text(written) or _DECIMAL
    message = _find_message(error, pattern_examples)
    is_plain = "input" in error and isinstance(written, str | int | float | None)
    return (
        f"{message}; it is {_show(written)}" if is_plain and kind not in _WITHOUT_VALUE else message
    )


def describe_json_fault(error: Mapping[str, Any]) -> str:
    """What is wrong with a text that is no JSON, and where."""
    message = str(error["msg"])
    for said, meant in _JSON_FAULTS.items():
        message = message.replace(said, meant)
    return message


def _find_message(error: Mapping[str, Any], pattern_examples: Mapping[str, str]) -> str:
    kind, context = error["type"], error.get("ctx") or {}
    if kind == "string_pattern_mismatch":
        example = pattern_examples.get(context["pattern"])
        if example is None:
            return "Input should have the form that /openapi.json describes"
        return f"Input should have the form of {example}"
    if kind in _MESSAGES:
        return _MESSAGES[kind].format_map(context)
    message = str(error["msg"])
    for said in _SAID_BY_VALIDATORS:
        message = message.removeprefix(said)
    return message


def _show(value: object) -> str:
    if isinstance(value, str) and len(value) > MAX_SHOWN:
        return f"{json.dumps(value[:MAX_SHOWN], ensure_ascii=False)}… ({len(value)} characters)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}… ({len(text)} characters)"
