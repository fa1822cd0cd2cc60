"""Text of a form: another one is refused in words, and the schema has the pattern."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from daicho.web.schema.text_forms import BUCKET_TYPES, build_names_type

NAMES = build_names_type(["name", "age"], "field")


def read_message(annotation: Any, text: str) -> str:
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(annotation).validate_python(text)
    return str(caught.value.errors()[0]["msg"])


@pytest.mark.parametrize("text", ["1996-13", "1996-1", "1996", "٢٠٢٦-11", "2026-11\n", "", "x"])
def test_a_month_is_asked_for_in_words(text: str) -> None:
    assert read_message(BUCKET_TYPES["month"], text) == "Input should be a month, such as 2026-11"


@pytest.mark.parametrize("text", ["2026-02-30", "2026-11-1", "2026-11", "20261121", "2026-W01-1"])
def test_a_day_exists_in_the_calendar(text: str) -> None:
    assert read_message(BUCKET_TYPES["day"], text) == "Input should be a day, such as 2026-11-21"


def test_text_of_the_form_is_read_as_it_is() -> None:
    assert TypeAdapter(BUCKET_TYPES["month"]).validate_python("2026-11") == "2026-11"
    assert TypeAdapter(BUCKET_TYPES["day"]).validate_python("2024-02-29") == "2024-02-29"
    assert TypeAdapter(NAMES).validate_python("age,name,age") == "age,name,age"
