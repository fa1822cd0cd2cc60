"""Values: shown as they are stored, sent as they were typed, and never changed by another field."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mypy_boto3_dynamodb import DynamoDBClient
from playwright.sync_api import Browser, Locator, Page, Request, expect

from tests.console.browser import check_accessibility, open_page
from tests.console.own_project import serve_own_project
from tests.console.stack import TENANTS, ConsoleStack

BIG, NEXT = "9007199254740993", "9007199254740995"
"""Whole numbers above 2 to the power of 53, which JavaScript's numbers do not have."""
FULL = (
    '{"title": " two  spaces ", "note": "one\\r\\ntwo ", "whole": -7, "size": 9007199254740993,'
    ' "ratio": 0.1, "price": "1234567890123456789.50", "shipped": "2026-11-21",'
    ' "seen": "2026-11-21T01:05:40.123456Z", "state": "open", "ready": true, "checked": false,'
    ' "tags": ["  before", "after  ", "\\u2028\\ufeff", "plain"], "aliases": ["one"],'
    ' "counts": [9007199254740993, 1], "extra": {"deep": [9007199254740993, {"a": 0.5}]}}'
)
NO_NUMBERS = ("3,770,000", "NaN", "1e", "Infinity", "+5", "0x10", "1_000", "007", ".5", "٣", "--1")
CLEARED = {
    "note": "null",
    "size": "null",
    "ratio": "null",
    "price": "null",
    "shipped": "null",
    "seen": "null",
    "state": "null",
    "checked": "null",
    "aliases": "null",
    "tags": "[]",
}
"""What emptying a field sends."""


@pytest.fixture(scope="module")
def stack(
    dynamo: str, dynamodb: DynamoDBClient, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleStack]:
    """The stack of a project with fields of all types."""
    folder = tmp_path_factory.mktemp("specimens")
    source = Path(__file__).with_name("specimens.py")
    with serve_own_project(dynamo, dynamodb, folder, source) as served:
        yield served


def send(stack: ConsoleStack, method: str, path: str, body: str | None = None) -> dict[str, Any]:
    """The answer to a request of the first tenant, with each number as its text."""
    headers = {"authorization": f"Bearer {stack.issuer.make_token(TENANTS[0])}"}
    answer = httpx.request(method, stack.gateway.url + path, headers=headers, content=body)
    assert answer.is_success, answer.text
    return parse(answer.text)


def parse(text: str) -> dict[str, Any]:
    """A JSON object, with numbers as tuples of their texts: ``1`` is neither ``1.0`` nor "1"."""
    read: dict[str, Any] = json.loads(
        text, parse_int=lambda digits: (digits,), parse_float=lambda digits: (digits,)
    )
    return read


def read_fields(stack: ConsoleStack, path: str) -> dict[str, Any]:
    """The fields of a stored item, without those that each write sets."""
    stored = send(stack, "GET", path)
    return {name: value for name, value in stored.items() if name != "version"}


def create(stack: ConsoleStack, body: str = FULL) -> str:
    """The path of a new specimen."""
    return f"/specimens/{send(stack, 'POST', '/specimens', body)['id']}"


def edit(page: Page, path: str) -> None:
    """Open the form of a specimen."""
    page.evaluate(f"location.hash = '#/item/get_specimen/{path.rpartition('/')[2]}'; 0")
    page.get_by_role("button", name="Edit").click()


def find_input(page: Page, name: str) -> Locator:
    return page.locator(f"#field-{name}")


def empty(page: Page, name: str) -> None:
    """Empty the input of a field."""
    found = find_input(page, name)
    if found.evaluate("(element) => element.tagName") == "SELECT":
        found.select_option("")
    else:
        found.fill("")


def save(page: Page, method: str = "PATCH") -> dict[str, Any]:
    """The body of the request that "Save" sends, with each number as its text."""
    with page.expect_request(lambda sent: sent.method == method) as caught:
        page.get_by_role("button", name="Save").click()
    request: Request = caught.value
    expect(page.get_by_role("button", name="Edit")).to_be_visible()
    return parse(request.post_data or "")


def expect_refusal(page: Page, server: ConsoleStack, name: str, sentence: str) -> None:
    """The field has a sentence beside it, and nothing is sent."""
    calls = [*server.gateway.calls]
    page.get_by_role("button", name="Save").or_(page.get_by_role("button", name="Create")).click()
    expect(page.locator(f"#field-{name}-problem")).to_contain_text(sentence)
    expect(find_input(page, name)).to_have_attribute("aria-invalid", "true")
    assert server.gateway.calls == calls


def test_a_number_keeps_its_digits(page: Page, server: ConsoleStack) -> None:
    path = create(server)
    edit(page, path)
    expect(find_input(page, "size")).to_have_value(BIG)
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("dl.details")).to_contain_text(f"Size{BIG}")
    page.get_by_role("button", name="JSON").click()
    shown = page.get_by_role("region", name="JSON").inner_text()
    assert parse(shown) == send(server, "GET", path)

    page.get_by_role("button", name="Edit").click()
    find_input(page, "size").fill(f" {NEXT} ")
    assert save(page) == {"size": (NEXT,)}
    assert read_fields(server, path)["size"] == (NEXT,)


def test_a_number_is_sent_as_it_was_typed(page: Page, server: ConsoleStack) -> None:
    path = create(server)
    edit(page, path)
    find_input(page, "price").fill("0.30000000000000001")
    with page.expect_request(lambda sent: sent.method == "PATCH") as caught:
        page.get_by_role("button", name="Save").click()
    assert caught.value.post_data == '{"price":"0.30000000000000001"}'
    expect(page.locator("#field-price-problem")).to_be_visible()
    check_accessibility(page)
    find_input(page, "price").fill("0.30")
    find_input(page, "counts").fill(f"[{NEXT}, 7]")
    find_input(page, "ratio").fill("2.50")
    sent = save(page)
    assert sent == {"price": "0.30", "counts": [(NEXT,), ("7",)], "ratio": ("2.50",)}
    assert read_fields(server, path)["counts"] == [(NEXT,), ("7",)]


def test_text_that_is_no_number_is_refused(page: Page, server: ConsoleStack) -> None:
    path = create(server)
    before = read_fields(server, path)
    edit(page, path)
    for place, text in enumerate(NO_NUMBERS):
        name = ("size", "ratio", "price", "whole")[place % 4]
        kept = find_input(page, name).input_value()
        find_input(page, name).fill(text)
        expect_refusal(page, server, name, f"“{text}” is no number. Write digits alone, like 1234")
        find_input(page, name).fill(kept)
    assert read_fields(server, path) == before


def test_a_value_that_is_needed_cannot_be_cleared(page: Page, server: ConsoleStack) -> None:
    edit(page, create(server))
    for name in ("whole", "counts", "extra"):
        kept = find_input(page, name).input_value()
        empty(page, name)
        expect_refusal(page, server, name, "This is needed: enter a value.")
        find_input(page, name).fill(kept)


def test_optional_values_are_cleared(page: Page, server: ConsoleStack) -> None:
    path = create(server)
    before = read_fields(server, path)
    edit(page, path)
    for name in CLEARED:
        empty(page, name)
    cleared = {name: json.loads(sent) for name, sent in CLEARED.items()}
    assert save(page) == cleared
    assert read_fields(server, path) == {**before, **cleared}


def test_a_date_that_is_not_complete_is_refused(page: Page, server: ConsoleStack) -> None:
    """The browser has no value for it, as if it were empty: it is not cleared."""
    path = create(server)
    edit(page, path)
    find_input(page, "shipped").press("Backspace")
    expect_refusal(page, server, "shipped", "This date is not complete")
    empty(page, "shipped")
    assert save(page) == {"shipped": None}


def test_other_lines_are_not_changed(page: Page, server: ConsoleStack) -> None:
    path = create(server)
    before = read_fields(server, path)
    edit(page, path)
    find_input(page, "tags").press("Control+End")
    page.keyboard.insert_text(" new\n\n")
    assert save(page) == {"tags": [*before["tags"][:-1], "plain new"]}


def test_line_breaks_are_kept(page: Page, server: ConsoleStack) -> None:
    """Those of a text as they are stored, and those in an entry of a list as JSON has them."""
    path = create(server)
    send(server, "PATCH", path, '{"tags": ["one\\ntwo", ""], "aliases": [""]}')
    edit(page, path)
    find_input(page, "note").press("Control+End")
    page.keyboard.insert_text("\nthree")
    tags = find_input(page, "tags")
    tags.fill(tags.input_value().replace("two", "2"))
    expect(find_input(page, "aliases")).to_have_value('[\n  ""\n]')
    assert save(page) == {"note": "one\r\ntwo \r\nthree", "tags": ["one\n2", ""]}
    edit(page, create(server, '{"title": "mixed\\r\\nbreaks\\n"}'))
    expect(find_input(page, "title")).to_have_value('"mixed\\r\\nbreaks\\n"')
    find_input(page, "title").fill('"mixed')
    expect_refusal(page, server, "title", "This is no JSON. Put texts in double quotes")
    page.get_by_role("button", name="Cancel").click()


def test_a_new_item_has_what_was_typed(page: Page, server: ConsoleStack) -> None:
    page.evaluate("location.hash = '#/new/create_specimen'; 0")
    find_input(page, "whole").fill("1,000")
    expect_refusal(page, server, "whole", "“1,000” is no number.")
    expect(page.locator("#field-title-problem")).to_contain_text("This is needed: enter a value.")
    check_accessibility(page)
    find_input(page, "title").fill(" New ")
    empty(page, "whole")
    expect_refusal(page, server, "whole", "This is needed: enter a value.")
    find_input(page, "whole").fill(BIG)
    with page.expect_request(lambda sent: sent.method == "POST") as caught:
        page.get_by_role("button", name="Create").click()
    assert caught.value.post_data == f'{{"title":" New ","whole":{BIG}}}'
    expect(page.get_by_role("button", name="Edit")).to_be_visible()


def test_a_replacement_keeps_the_other_fields(page: Page, server: ConsoleStack) -> None:
    page.evaluate("location.hash = '#/new/put_shelve'; 0")
    find_input(page, "title").fill("Shelf")
    find_input(page, "number").fill("9,007")
    expect_refusal(page, server, "number", "“9,007” is no number.")
    find_input(page, "number").fill(BIG)
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("heading", name="Shelf", level=1, exact=True)).to_be_visible()
    path = f"/shelves/{BIG}"
    send(server, "PUT", path, f'{{"title": "Shelf", "size": {NEXT}, "tags": [" a ", "b\\n"]}}')
    page.evaluate("location.hash = '#/'; 0")
    expect(page.get_by_role("heading", name="Shelf", level=1, exact=True)).to_be_hidden()
    page.evaluate(f"location.hash = '#/item/get_shelve/{BIG}'; 0")
    expect(page.locator("dl.details")).to_contain_text(NEXT)
    page.get_by_role("button", name="Edit").click()
    find_input(page, "title").fill("Other")
    sent = save(page, "PUT")
    assert sent == {"title": "Other", "size": (NEXT,), "tags": [" a ", "b\n"]}


def test_an_old_browser_is_refused(browser: Browser, server: ConsoleStack) -> None:
    with open_page(browser) as old:
        old.add_init_script("delete JSON.rawJSON")
        old.goto(server.url)
        expect(old.get_by_role("alert")).to_contain_text("This browser changes large numbers.")


PIECES = [" ", "\n", "\r\n", "\r", "\t", "\u2028", "\ufeff", "\u00a0", '"', "a"]
TEXTS = st.lists(
    st.sampled_from(PIECES) | st.characters(exclude_categories=["Cs"]), max_size=8
).map("".join)
INTEGERS = st.one_of(st.integers(), st.integers(-(10**37), 10**37))
SPECIMENS = st.fixed_dictionaries(
    {
        "title": TEXTS,
        "note": st.none() | TEXTS,
        "whole": INTEGERS,
        "size": st.none() | INTEGERS,
        "ratio": st.none() | st.floats(-1e100, 1e100).filter(lambda one: abs(one) > 1e-100),
        "price": st.none() | st.decimals(-(10**30), 10**30, places=2).map(lambda one: f"{one:f}"),
        "shipped": st.none() | st.dates().map(str),
        "seen": st.none() | st.datetimes().map(lambda one: f"{one.isoformat()}Z"),
        "state": st.sampled_from([None, "open", "done"]),
        "ready": st.booleans(),
        "checked": st.none() | st.booleans(),
        "tags": st.lists(TEXTS, max_size=4),
        "aliases": st.none() | st.lists(TEXTS, max_size=3),
        "counts": st.lists(INTEGERS, max_size=3),
        "extra": st.dictionaries(st.text("abc", min_size=1), INTEGERS | TEXTS, max_size=3),
    }
)
APPENDED = ("title", "note", "tags", "aliases")
TYPED = {"whole": BIG, "size": BIG, "counts": f"[{BIG}]", "extra": f'{{"x": {BIG}}}'}
"""What is typed into these fields; to the end of those of APPENDED, an "x" is added."""


def touch(page: Page, name: str, stored: Any) -> Any:
    """Change a field in the form; the value that has to be stored afterwards."""
    found = find_input(page, name)
    if name in TYPED:
        found.fill(TYPED[name])
        return parse(TYPED[name]) if name in ("counts", "extra") else (TYPED[name],)
    is_list = name in ("tags", "aliases")
    value = [*(stored or []), "x"] if is_list else f"{stored or ''}x"
    if "mono" in (found.get_attribute("class") or ""):
        found.fill(json.dumps(value))
    else:
        found.press("Control+End")
        page.keyboard.insert_text("\nx" if is_list else "x")
    return value


@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.explicit, Phase.generate),
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(values=SPECIMENS, name=st.sampled_from((*APPENDED, *TYPED)))
def test_only_what_was_touched_is_changed(
    page: Page, server: ConsoleStack, values: dict[str, Any], name: str
) -> None:
    path = create(server, json.dumps(values))
    before = read_fields(server, path)
    edit(page, path)
    expect(page.get_by_role("button", name="Save")).to_be_disabled()
    expected = touch(page, name, before[name])
    if name not in TYPED or expected != before[name]:
        assert save(page) == {name: expected}
    assert read_fields(server, path) == {**before, name: expected}
