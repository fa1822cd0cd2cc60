"""Contacts over the real handlers: seed 001's page, its categories, calls and count."""

from __future__ import annotations

from typing import Any

import pytest

from daicho.query.paging import CursorBinding, CursorPosition
from domains.contacts import Contact
from tests.support.api_client import Client, segment
from tests.support.deployment import Served

PEOPLE: list[dict[str, str]] = [
    {"name": "山田 太郎", "company": "株式会社山田商店", "phone": "03-1234-5678"},
    {"name": "Yamada Hanako", "company": "Acme Co., Ltd.", "phone": "+81 90 1111 2222"},
    {"name": "José Müller", "company": "㈱デンソー", "phone": "(06) 6789-0000"},
    {"name": "O'Brien #1", "company": "", "phone": "", "email": "ob@example.com"},
]
BY_ID = ("yamada", "hanako", "jose", "obrien")
GROUPS = ("VIP", "取引先", "Trade")


@pytest.fixture(scope="module")
def people(served: Served, acme: Client, globex: Client) -> dict[str, str]:
    """Contacts and categories of one tenant by a name; another has the same."""
    found: dict[str, str] = {}
    for client in (globex, acme):
        made = [client.good("POST", "/contacts", each)["id"] for each in PEOPLE]
        groups = [client.good("POST", "/categories", {"name": name})["id"] for name in GROUPS]
        found = dict(zip((*BY_ID, *GROUPS), (*made, *groups), strict=True))
        for person, group in (("yamada", "VIP"), ("yamada", "Trade"), ("jose", "VIP")):
            client.good("PUT", f"/contacts/{found[person]}/categories/{found[group]}")
    served.catch_up()
    return found


def names(items: list[dict[str, Any]], people: dict[str, str]) -> list[str]:
    by_id = {id: name for name, id in people.items()}
    return [by_id[item["id"]] for item in items]


@pytest.mark.parametrize(
    ("keyword", "wanted"),
    [
        ("", [*reversed(BY_ID)]),
        ("山", ["yamada"]),
        ("太郎", ["yamada"]),
        ("山田商店", ["yamada"]),
        ("㈱山田", ["yamada"]),
        ("(株)", ["jose", "yamada"]),
        ("株式会社", ["jose", "yamada"]),
        ("ﾃﾞﾝｿｰ", ["jose"]),
        ("でんそ", ["jose"]),
        ("yam", ["hanako"]),
        ("hana yam", ["hanako"]),
        ("acme co., lt", ["hanako"]),
        ("090-1111", ["hanako"]),
        ("+81901111", ["hanako"]),
        ("0", ["jose", "hanako", "yamada"]),
        ("jose MULLER", ["jose"]),
        ("o'brien #1", ["obrien"]),
        ("#1", ["obrien"]),
        ("ob@ex", []),
        ("vip", ["jose", "yamada"]),
        ("取引", []),
        ("vip 山田", ["yamada"]),
        ("tra vip", ["yamada"]),
        ("\u3000", []),
        ("\u0301", []),
        ("nobody", []),
        ("yam 03", []),
    ],
)
def test_contacts_by_a_keyword(
    acme: Client, people: dict[str, str], keyword: str, wanted: list[str]
) -> None:
    for limit in (100, 1):
        found = acme.everything(f"/contacts?q={segment(keyword)}", limit=limit)
        assert names(found, people) == wanted


@pytest.mark.parametrize(
    ("keyword", "status"),
    [("x" * 65, 422), ("a b c d e f", 422), ("㍿" * 20, 422), ("㍿" * 16, 200), ("x" * 64, 200)],
)
def test_keywords_that_are_too_long(acme: Client, keyword: str, status: int) -> None:
    answer = acme("GET", f"/contacts?q={segment(keyword)}")
    assert answer.status == status
    if status != 200:
        assert answer.fields == {"q"}


def test_a_lone_surrogate_is_no_text(acme: Client) -> None:
    assert acme("GET", "/contacts?q=%ED%A0%80").status == 400
    assert acme("POST", "/contacts", raw='{"name": "\\ud800"}').status == 400


def test_a_contact_has_a_name(acme: Client, people: dict[str, str]) -> None:
    path = f"/contacts/{people['jose']}"
    refused = (
        acme("POST", "/contacts", {"company": "Acme"}),
        acme("POST", "/contacts", {"name": ""}),
        acme("PATCH", path, {"name": ""}),
        acme("PATCH", path, {"name": None}),
    )
    assert [(answer.status, answer.fields) for answer in refused] == [(422, {"name"})] * 4


def test_values_that_are_too_long(acme: Client) -> None:
    assert acme("POST", "/contacts", {"name": "x" * 257}).status == 422
    words = " ".join(f"{chr(0x4E00 + n)}{n}" for n in range(64))
    refused = acme("POST", "/contacts", {"name": words, "company": words[::-1]})
    assert refused.status == 422  # over 400 postings
    assert refused.fields & {"name", "company"}


def test_rows_come_with_what_is_shown_beside_them(
    served: Served, acme: Client, people: dict[str, str]
) -> None:
    path = f"/contacts/{people['hanako']}/calls"
    notes = [f"call {number}" for number in range(5)]
    for note in notes:
        acme.good("POST", path, {"note": note, "seconds": 60})
    served.catch_up()
    assert [call["note"] for call in acme.everything(path, limit=2)] == notes[::-1]
    yamada, hanako = (
        acme.good("GET", f"/contacts?q={q}&include=calls")["items"][0]
        for q in (segment("山田"), "hanako")
    )
    assert yamada["category_names"] == {people["VIP"]: "VIP", people["Trade"]: "Trade"}
    assert yamada["calls"] == []
    assert hanako["category_names"] == {}
    assert [call["note"] for call in hanako["calls"]] == notes[:1:-1]
    assert "calls" not in acme.good("GET", "/contacts?q=hanako")["items"][0]
    assert acme("GET", "/contacts?q=hanako&include=others").status == 422
    for url in ("/contacts", f"/categories/{people['VIP']}/contacts"):
        assert all("category_names" in row for row in acme.everything(url))


def test_a_call_is_with_a_contact_that_exists(
    acme: Client, globex: Client, people: dict[str, str]
) -> None:
    gone = acme.good("POST", "/contacts", {"name": "Gone Soon"})["id"]
    acme.good("POST", f"/contacts/{gone}/calls", {"note": "hello"})
    acme.good("DELETE", f"/contacts/{gone}")
    for client, contact in ((acme, gone), (acme, "nobody"), (globex, people["jose"])):
        refused = client("POST", f"/contacts/{segment(contact)}/calls", {"note": "hello"})
        assert (refused.status, refused.fields) == (422, {"contact"})
        assert refused.json["type"].endswith("reference-not-found")
    assert acme.everything(f"/contacts/{people['jose']}/calls") == []


def test_all_contacts_and_their_count(acme: Client, people: dict[str, str]) -> None:
    assert names(acme.everything("/contacts", limit=3), people) == [*reversed(BY_ID)]
    assert acme.figure("/contacts/count") == {"count": 4}
    assert acme.figure("/contacts/count?live=true") == {"count": 4}


def test_a_category_is_renamed_and_deleted(served: Served, acme: Client) -> None:
    group = acme.good("POST", "/categories", {"name": "Prospects"})["id"]
    contact = acme.good("POST", "/contacts", {"name": "Zoe"})["id"]
    acme.good("PUT", f"/contacts/{contact}/categories/{group}")
    served.catch_up()
    assert [c["id"] for c in acme.everything("/contacts?q=prosp")] == [contact]
    rows = derived(served, contact)

    acme.good("PATCH", f"/categories/{group}", {"name": "Customers"})
    assert acme.everything("/contacts?q=prosp") == []
    assert [c["id"] for c in acme.everything("/contacts?q=cust")] == [contact]
    served.catch_up()
    assert derived(served, contact) == rows  # with their numbers: nothing was written

    acme.good("DELETE", f"/categories/{group}")
    assert acme.everything("/contacts?q=cust") == []
    assert acme("GET", f"/categories/{group}/contacts").status == 404
    assert acme("PUT", f"/contacts/{contact}/categories/{group}").status == 404
    (row,) = acme.everything("/contacts?q=zoe")
    assert row["category_names"] == {}
    acme.good("DELETE", f"/contacts/{contact}/categories/{group}")
    assert acme.good("GET", f"/contacts/{contact}")["categories"] == []
    acme.good("DELETE", f"/contacts/{contact}")
    served.catch_up()
    assert acme.everything("/contacts?q=zoe") == []


def test_editing_one_field_rewrites_only_its_postings(served: Served, acme: Client) -> None:
    contact = acme.good("POST", "/contacts", {"name": "Quincy Adams", "phone": "0355550000"})["id"]
    served.catch_up()
    before = derived(served, contact)
    acme.good("PATCH", f"/contacts/{contact}", {"phone": "0399990000"})
    served.catch_up()
    after = derived(served, contact)
    changed = {key for key in {*before, *after} if before.get(key) != after.get(key)}
    assert changed
    assert all("#035" in key or "#039" in key for key in changed)
    assert [c["id"] for c in acme.everything("/contacts?q=039999")] == [contact]
    assert acme.everything("/contacts?q=035555") == []
    acme.good("DELETE", f"/contacts/{contact}")
    served.catch_up()


def derived(served: Served, contact: str) -> dict[str, Any]:
    """The derived items of a contact by their sort keys, with the numbers that wrote them."""
    found = served.dynamodb.query(
        TableName=served.table.name,
        KeyConditionExpression="PK = :pk",
        ExpressionAttributeValues={":pk": {"S": f"acme#~Contact#{contact}#-"}},
    )
    return {item["SK"]["S"]: item for item in found["Items"] if "GSI2PK" in item}


def test_a_contact_is_in_many_categories_and_leaves_them(
    served: Served, acme: Client, people: dict[str, str]
) -> None:
    trade = people["取引先"]
    for person in ("hanako", "jose"):
        for _ in range(2):
            acme.good("PUT", f"/contacts/{people[person]}/categories/{trade}")
    served.catch_up()
    listed = f"/categories/{trade}/contacts"
    assert names(acme.everything(listed, limit=1), people) == ["jose", "hanako"]
    assert names(acme.everything(f"/contacts?q={segment('取引')}"), people) == ["jose", "hanako"]
    for person in ("hanako", "jose"):
        for _ in range(2):
            acme.good("DELETE", f"/contacts/{people[person]}/categories/{trade}")
    served.catch_up()
    assert acme.everything(listed) == []


def test_another_tenant_sees_nothing(
    served: Served, acme: Client, globex: Client, people: dict[str, str]
) -> None:
    secret = acme.good("POST", "/contacts", {"name": "Secret Agent"})["id"]
    group = acme.good("POST", "/categories", {"name": "Spies"})["id"]
    acme.good("PUT", f"/contacts/{secret}/categories/{group}")
    acme.good("POST", f"/contacts/{secret}/calls", {"note": "hush"})
    served.catch_up()
    for keyword in ("secret", "spies", "acme#Contact.search#1#s", "#1#s", "$23", "acme#"):
        assert globex.everything(f"/contacts?q={segment(keyword)}") == []
    ids = (secret, f"{secret}#-", f"acme#Contact#{secret}", segment(f"../acme#Contact#{secret}"))
    for id in ids:
        for path in (f"/contacts/{segment(id)}", f"/categories/{segment(id)}/contacts"):
            answer = globex("GET", path)
            assert answer.status in (400, 404), answer.request
        calls = globex("GET", f"/contacts/{segment(id)}/calls")
        assert calls.status in (400, 404) or calls.json["items"] == []
    assert globex("GET", f"/categories/{group}/contacts").status == 404
    assert globex("PUT", f"/contacts/{secret}/categories/{group}").status == 404
    assert globex("DELETE", f"/contacts/{secret}").status == 404
    # Whoever names another's category among their own sees neither its name nor its members.
    mine = globex.good("POST", "/contacts", {"name": "Mole", "categories": [group]})
    served.catch_up()
    (row,) = globex.everything("/contacts?q=mole")
    assert row["category_names"] == {}
    assert globex.everything("/contacts?q=spies") == []
    assert globex.figure("/contacts/count?live=true") == {"count": 5}
    assert [c["id"] for c in acme.everything("/contacts?q=spies")] == [secret]
    for client, id in ((globex, mine["id"]), (acme, secret)):
        client.good("DELETE", f"/contacts/{id}")
    acme.good("DELETE", f"/categories/{group}")
    served.catch_up()


def test_cursors_are_of_one_keyword_and_tenant(
    acme: Client, globex: Client, people: dict[str, str]
) -> None:
    cursor = acme.good("GET", "/contacts?q=0&limit=1")["cursor"]
    assert acme("GET", f"/contacts?q=0&limit=1&cursor={cursor}").status == 200
    assert acme("GET", f"/contacts?q=03&limit=1&cursor={cursor}").status == 400
    assert acme("GET", f"/contacts?limit=1&cursor={cursor}").status == 400
    assert globex("GET", f"/contacts?q=0&limit=1&cursor={cursor}").status == 400
    for question in (("search", "search", "1", "False", "", "0"), ("acme",)):
        made = CursorBinding("acme", question).write_cursor(CursorPosition("9999", 1))
        assert globex("GET", f"/contacts?q=0&cursor={made}").status == 400
    # One that somebody computes for their own tenant says only where in their own list to go on.
    question = ("search", Contact.search.declaration.name, "1", "False", "", "0")
    own = CursorBinding("globex", question).write_cursor(CursorPosition("acme#Contact", 1))
    answer = globex("GET", f"/contacts?q=0&cursor={own}")
    assert answer.status == 200
    assert {row["id"] for row in answer.json["items"]}.isdisjoint(people.values())


def test_every_keystroke_answers(acme: Client, people: dict[str, str]) -> None:
    for typed, person in (
        ("山田 太郎", "yamada"),
        ("株式会社山田商店", "yamada"),
        ("yamada hanako", "hanako"),
        ("Acme Co., Ltd.", "hanako"),
        ("090-1111-2222", "hanako"),
        ("josé müller", "jose"),
        ("VIP", "jose"),
    ):
        for end in range(1, len(typed) + 1):
            found = acme.good("GET", f"/contacts?q={segment(typed[:end])}")["items"]
            assert people[person] in {row["id"] for row in found}, typed[:end]
