"""The cases that the tests of values began with: each has a test, and some have theirs here."""

from __future__ import annotations

import re

import pytest

from tests.support.api_client import Client
from tests.support.catalogue_domains.products import domain
from tests.support.memory_served import serve_in_memory
from tests.support.repository import ROOT

CASES = {
    "text that is no number, in the console": "console/test_values.py "
    "test_text_that_is_no_number_is_refused",
    "an optional number is emptied": "console/test_values.py test_an_optional_value_is_cleared",
    "a line of a list is edited": "console/test_values.py test_other_lines_are_not_changed",
    "? in an id": "integration/values/test_cases.py test_a_path_with_a_question_mark_is_cut",
    "% in an id": "integration/values/test_paths.py "
    "test_an_id_without_an_address_cannot_be_created",
    "a captured path": "integration/values/test_paths.py "
    "test_a_captured_path_reaches_its_own_item_or_none",
    "a rounded decimal, a rounded number in JSON": "integration/values/test_numbers.py "
    "test_a_number_that_would_be_rounded_is_refused",
    "whole numbers above 2^53 in the console": "console/test_values.py "
    "test_a_number_keeps_its_digits",
    "a refusal grows with the body": "integration/values/test_bodies.py "
    "test_many_errors_are_named_in_part_and_counted",
    "depth": "integration/values/test_bodies.py test_the_depth_of_a_value_is_that_of_dynamodb",
    "a series in local mean time": "integration/values/test_time.py "
    "test_a_series_in_local_mean_time_ends",
    "a range at the edge of the calendar": "integration/values/test_time.py "
    "test_a_range_at_the_edge_is_refused",
    "a time at the edge of the calendar": "integration/values/test_time.py "
    "test_a_time_at_the_edge_is_refused_and_names_its_field",
    "a group with a space": "unit/web/test_api.py test_a_role_is_asked_for",
    "a group with a space, without its token": "unit/web/http/test_claims.py "
    "test_a_claim_without_its_token_is_one_group_or_none",
    "a body not in UTF-8, BOM, gzip": "integration/values/test_bodies.py "
    "test_what_is_no_json_in_utf_8_is_refused_in_words",
    "a field named keys": "integration/values/test_field_names.py "
    "test_each_breaking_name_is_refused",
    "If-Match 02": "integration/values/test_cases.py test_a_version_is_matched_as_it_was_answered",
    "one Idempotency-Key with 1.0, then 1": "integration/values/test_numbers.py "
    "test_a_repeat_with_another_spelling_of_a_number_is_the_same_request",
    "+1, 1_000, digits of other scripts, spaces": "integration/values/test_numbers.py "
    "test_text_that_is_a_number_for_python_only_is_refused",
    "0.0000001 as 1E-7": "integration/values/test_numbers.py "
    "test_decimals_are_answered_in_plain_notation",
    "the example of a nested decimal": "integration/values/test_numbers.py "
    "test_the_example_of_a_nested_decimal_is_a_number",
    "a formula in CSV": "unit/daicho_cli/archive/test_query.py test_csv_has_no_formula",
    "1e400 in a rejected row": "integration/commands/test_load.py "
    "test_rows_with_numbers_that_would_change_are_rejected_as_they_are",
    "a misspelt option": "infra/test_settings.py test_a_misspelt_option_is_an_error",
    "the offset +14:60": "integration/values/test_time.py "
    "test_an_offset_that_no_clock_has_is_refused",
    "factory=now in memory": "integration/values/test_time.py "
    "test_a_moment_that_nobody_gave_is_that_of_the_clock_in_memory",
    "candidates in NFC and NFD": "demonstration/unit/test_polls.py "
    "test_candidates_that_look_alike_are_refused",
    "a vote in another Unicode form": "demonstration/unit/test_polls.py "
    "test_a_vote_in_another_unicode_form_counts",
    "a 1:1 poll": "demonstration/unit/test_polls.py "
    "test_nobody_leads_with_as_many_votes_as_another",
    "search as people type": "integration/book/test_typed_names.py "
    "test_what_people_type_finds_what_is_stored",
    "any body, any path": "integration/values/test_drawn_requests.py "
    "test_no_drawn_request_gives_a_5xx_or_a_large_refusal",
}
"""The test of each case: its file below ``tests``, and its name."""


@pytest.mark.parametrize("case", CASES)
def test_a_case_has_its_test(case: str) -> None:
    file, name = CASES[case].split()
    path = ROOT / "tests" / file
    if file.startswith("demonstration/") and not (ROOT / "tests/demonstration").exists():
        pytest.skip("the project is without the demonstration")
    assert re.search(rf"^def {name}\(", path.read_text("utf-8"), re.MULTILINE)


def test_a_path_with_a_question_mark_is_cut() -> None:
    """`PUT /x/who%3F` arrives as that of ``who``. No item is called ``who?``, so none is meant."""
    client = serve_in_memory(domain).client
    client.good("PUT", "/products/who", {"name": "first"})
    for method, path in (("POST", "/products"), ("POST", "/offers")):
        answer = client(method, path, {"id": "who?"})
        assert answer.status == 422
        assert "id" in answer.fields
    for way in ("/products/who?", "/products/who%3F", "/products/who/"):
        assert client.send("GET", way).status in (404, 422)
    assert client.good("GET", "/products/who%3F")["id"] == "who"


@pytest.mark.parametrize("tag", ['"02"', '"+2"', '"2.0"', '"2_0"', "2", '"٢"', 'W/"2"', '" 2"'])
def test_a_version_is_matched_as_it_was_answered(client: Client, tag: str) -> None:
    client("DELETE", "/products/v")
    client.good("PUT", "/products/v", {})
    second = client("PUT", "/products/v", {"name": "n"})
    assert second.headers["ETag"] == '"2"'
    assert client("PUT", "/products/v", {}, If_Match=tag).status in (400, 412)
    assert client("DELETE", "/products/v", If_Match=tag).status in (400, 412)
    assert client("PUT", "/products/v", {}, If_Match='"2"').status == 200
