"""Messages over the real handlers: newest first, gone when they expire."""

from __future__ import annotations

from daicho.storage.item_key import ItemKey
from daicho.storage.keys import render
from tests.support.api_client import Client
from tests.support.deployment import Served


def test_messages_come_newest_first(served: Served, acme: Client, globex: Client) -> None:
    sent = [acme.good("POST", "/messages", {"text": f"number {n}"})["id"] for n in range(7)]
    globex.good("POST", "/messages", {"text": "theirs", "sender": "them"})
    served.catch_up()
    assert [each["id"] for each in acme.everything("/messages", limit=2)] == sent[::-1]
    assert [each["text"] for each in globex.everything("/messages")] == ["theirs"]
    assert acme.good("GET", f"/messages/{sent[0]}")["text"] == "number 0"
    assert acme("DELETE", f"/messages/{sent[0]}").status == 204
    assert [each["id"] for each in acme.everything("/messages", limit=2)] == sent[:0:-1]


def test_messages_are_found_by_their_subject_and_counted(served: Served, acme: Client) -> None:
    served.catch_up()
    before = acme.good("GET", "/messages/count?live=true")["count"]
    for subject in ("Invoice 12", "invoice 13", "Lunch", None):
        body = {"text": "…"} | ({"subject": subject} if subject else {})
        acme.good("POST", "/messages", body)
    served.catch_up()
    found = acme.everything("/messages?subject=invoi")
    assert [each["subject"] for each in found] == ["invoice 13", "Invoice 12"]
    for live in ("", "?live=true"):
        assert acme.figure(f"/messages/count{live}") == {"count": before + 4}
    answer = acme("POST", "/messages", {"text": "…", "subject": "x" * 201})
    assert (answer.status, answer.fields) == (422, {"subject"})


def test_an_expired_message_is_gone_before_it_is_deleted(served: Served, acme: Client) -> None:
    id = acme.good("POST", "/messages", {"text": "soon gone", "subject": "Farewell"})["id"]
    served.catch_up()
    assert [each["id"] for each in acme.everything("/messages?subject=fare")] == [id]
    key = ItemKey(render("acme", "Message", id), "-")
    names, values = {"#ttl": "ttl"}, {":past": {"N": "1000000000"}}
    served.table.update(key, "SET #ttl = :past", names=names, values=values)
    assert served.table.get(key) is not None
    for fields in ("", "?fields=text"):
        assert acme("GET", f"/messages/{id}{fields}").status == 404
    assert acme.everything("/messages?subject=fare") == []
    assert id not in [each["id"] for each in acme.everything("/messages")]
    assert acme("DELETE", f"/messages/{id}").status == 404


def test_a_text_has_its_limits(acme: Client) -> None:
    for text in ("", "x" * 10_001, None, 5, ["x"]):
        answer = acme("POST", "/messages", {"text": text})
        assert (answer.status, answer.fields) == (422, {"text"})
    assert acme("PUT", "/messages/mine", {"text": "x"}).status == 405
