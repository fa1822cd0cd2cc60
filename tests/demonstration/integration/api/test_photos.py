"""Photos over HTTP: what is signed, for whom, and what goes with a photo. S3 itself is in e2e."""

from __future__ import annotations

import datetime as dt
import zlib
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import pytest

from daicho.book.book import Book
from daicho.errors import Invalid, UnavailableError
from daicho.handlers import api
from daicho.handlers.wiring.dependencies import AWS_DEPENDENCIES
from daicho.plan import Ledger
from daicho.runtime.retry import RetryBudget
from daicho.storage.attributes import get_key
from daicho.storage.bucket import Bucket, open_bucket
from daicho.sweep import Sweep
from domains.photos import Photo
from tests.support.api_client import Client
from tests.support.memory_stores import MemoryTable
from tests.support.stream_pump import environment

IMAGE = {"type": "image/png", "bytes": 1234}
HEADERS = {"Content-Type": "image/png", "Content-Length": "1234", "If-None-Match": "*"}


@dataclass
class Removing:
    """A bucket that signs, and notes what it was to remove."""

    signing: Bucket
    removed: list[str] = field(default_factory=list)
    is_down: bool = False

    def sign_upload_url(self, *given: Any) -> str:
        return self.signing.sign_upload_url(*given)

    def sign_download_url(self, *given: Any) -> str:
        return self.signing.sign_download_url(*given)

    def remove(self, key: str) -> None:
        if self.is_down:
            raise UnavailableError("S3 is down on purpose")
        self.removed.append(key)


@dataclass
class Deployed:
    """The API over a table and such a bucket, at a time that tests move."""

    table: MemoryTable
    bucket: Removing
    now: dt.datetime = dt.datetime(2026, 11, 21, 12, tzinfo=dt.UTC)

    def client(self, tenant: str = "acme", **variables: str) -> Client:
        bucket: Any = self.bucket
        dependencies = replace(
            AWS_DEPENDENCIES,
            table=lambda *_, **__: self.table,
            bucket=lambda _: bucket,
            now=lambda: self.now,
        )
        variables = environment(self.table.name, **variables)
        return Client(api.build(variables, dependencies=dependencies), tenant)

    def sweep(self) -> Any:
        bucket: Any = self.bucket
        return Sweep(self.table, lambda: bucket, lambda: self.now).run(RetryBudget.for_seconds(60))

    def items(self) -> int:
        return len(scanned(self))


def scanned(deployed: Deployed) -> list[Any]:
    return list(deployed.table.items.values())


def unpacked(body: Any) -> str:
    return str(body["S"]) if "S" in body else zlib.decompress(body["B"]).decode()


@pytest.fixture
def deployed(monkeypatch: pytest.MonkeyPatch) -> Deployed:
    monkeypatch.setenv("POWERTOOLS_LOG_LEVEL", "ERROR")
    return Deployed(MemoryTable(), Removing(open_bucket("objects")))


def test_a_photo_is_put_and_had_by_signed_requests(deployed: Deployed) -> None:
    acme = deployed.client()
    made = acme("POST", "/photos", {"title": "Tōkyō", "image": IMAGE})
    assert made.status == 201, made.text
    photo = made.json
    upload, image = photo["image"].pop("upload"), photo["image"]
    assert upload["method"] == "PUT"
    assert upload["headers"] == HEADERS
    assert upload["expires_at"] == "2026-11-21T12:15:00Z"
    assert (image["type"], image["bytes"]) == ("image/png", 1234)
    assert image["expires_at"] == "2026-11-21T13:00:00Z"
    for url, seconds in ((upload["url"], "900"), (image["url"], "3600")):
        parts = urlsplit(url)
        assert unquote(parts.path).endswith(f"acme/Photo.image/{photo['id']}")
        assert parse_qs(parts.query)["X-Amz-Expires"] == [seconds]
    signed = parse_qs(urlsplit(upload["url"]).query)["X-Amz-SignedHeaders"]
    assert signed == ["content-length;content-type;host;if-none-match"]
    shown = acme.good("GET", f"/photos/{photo['id']}")
    assert "upload" not in shown["image"] and shown["image"]["url"]
    (listed,) = acme.everything("/photos")
    assert listed["id"] == photo["id"] and listed["image"]["url"]
    changed = acme.good("PATCH", f"/photos/{photo['id']}", {"title": "Edo"})
    assert changed["title"] == "Edo" and changed["image"]["bytes"] == 1234
    known = acme("GET", f"/photos/{photo['id']}", If_None_Match='"2"')
    assert (known.status, known.text) == (304, "")


def test_an_upload_url_is_valid_as_long_as_the_stage_says(deployed: Deployed) -> None:
    made = deployed.client(UPLOAD_SECONDS="30").good("POST", "/photos", {"image": IMAGE})
    upload = made["image"]["upload"]
    assert parse_qs(urlsplit(upload["url"]).query)["X-Amz-Expires"] == ["30"]
    assert upload["expires_at"] == "2026-11-21T12:00:30Z"


def test_where_to_put_an_image_is_told_again_to_who_asks(deployed: Deployed) -> None:
    acme = deployed.client()
    id = acme.good("POST", "/photos", {"image": IMAGE})["id"]
    deployed.now += dt.timedelta(days=2)
    told = acme("GET", f"/photos/{id}?upload=true")
    assert told.headers["Cache-Control"] == "no-store"
    assert told.json["image"]["upload"]["headers"] == HEADERS
    assert told.json["image"]["upload"]["expires_at"] == "2026-11-23T12:15:00Z"
    assert "upload" not in acme.good("GET", f"/photos/{id}?upload=false")["image"]
    for query, status in (("upload=true&fields=title", 400), ("upload=yes", 422)):
        refused = acme("GET", f"/photos/{id}?{query}")
        assert (refused.status, refused.fields) == (status, {"upload"})
    assert acme.good("GET", f"/photos/{id}?fields=image") == {"image": IMAGE}
    assert acme("GET", "/photos?upload=true").status == 400
    assert deployed.client("globex")("GET", f"/photos/{id}?upload=true").status == 404
    # It may be put there until the URL is closed, though the photo is gone: the sweep sees to it.
    assert acme("DELETE", f"/photos/{id}").status == 204
    deployed.now += dt.timedelta(minutes=16, seconds=1)
    assert deployed.sweep().objects == 1


def test_a_repeat_under_a_key_is_given_urls_that_are_good_now(deployed: Deployed) -> None:
    acme = deployed.client()
    body = {"title": "Tōkyō", "image": IMAGE}
    first = acme("POST", "/photos", body, Idempotency_Key="k")
    deployed.now += dt.timedelta(hours=23)
    again = acme("POST", "/photos", body, Idempotency_Key="k")
    assert (first.status, again.status) == (201, 201)
    assert again.headers["Location"] == first.headers["Location"]
    made, repeated = first.json["image"], again.json["image"]
    assert {**again.json, "image": 0} == {**first.json, "image": 0}
    assert repeated["expires_at"] == "2026-11-22T12:00:00Z"
    assert repeated["upload"]["expires_at"] == "2026-11-22T11:15:00Z"
    assert repeated["upload"]["headers"] == made["upload"]["headers"]
    url = first.headers["Location"]
    for _ in range(2):
        changed = acme("PATCH", url, {"title": "Edo"}, Idempotency_Key="p").json
        deployed.now += dt.timedelta(minutes=30)
        assert "upload" not in changed["image"]
    assert changed["title"] == "Edo" and changed["image"]["expires_at"] == "2026-11-22T12:30:00Z"
    kept = [item["body"] for item in scanned(deployed) if "body" in item]
    assert len(kept) == 2 and not any("http" in unpacked(each) for each in kept)


def test_a_deleted_photo_takes_its_image_along(deployed: Deployed) -> None:
    acme = deployed.client()
    old = acme.good("POST", "/photos", {"image": IMAGE})["id"]
    deployed.now += dt.timedelta(hours=25)
    new = acme.good("POST", "/photos", {"image": IMAGE})["id"]
    names = [f"acme/Photo.image/{id}" for id in (old, new)]
    for id in (old, new):
        assert acme("DELETE", f"/photos/{id}").status == 204
        assert acme("GET", f"/photos/{id}").status == 404
    assert deployed.bucket.removed == names
    # They may still be put to a URL: they are removed once more when that is closed.
    assert deployed.items() == 2
    assert deployed.sweep().done == 0
    deployed.now += dt.timedelta(minutes=16, seconds=1)
    assert deployed.sweep().objects == 2
    assert deployed.bucket.removed == [*names, *names]
    assert deployed.items() == 0


def test_an_image_that_could_not_be_removed_is_removed_later(deployed: Deployed) -> None:
    acme = deployed.client()
    id = acme.good("POST", "/photos", {"image": IMAGE})["id"]
    deployed.bucket.is_down = True
    assert acme("DELETE", f"/photos/{id}", Idempotency_Key="k").status == 204
    assert acme("DELETE", f"/photos/{id}", Idempotency_Key="k").status == 204
    assert acme("GET", f"/photos/{id}").status == 404
    deployed.now += dt.timedelta(hours=1)
    assert deployed.sweep().failed == 1
    deployed.bucket.is_down = False
    assert deployed.sweep().done == 1
    assert deployed.bucket.removed == [f"acme/Photo.image/{id}"]
    assert deployed.sweep().done == 0


def test_an_image_whose_photo_is_there_again_stays(deployed: Deployed) -> None:
    acme = deployed.client()
    id = acme.good("POST", "/photos", {"image": IMAGE})["id"]
    key = {"PK": {"S": "acme#Photo"}, "SK": {"S": id}}
    item = deployed.table.items[get_key(key)]
    acme("DELETE", f"/photos/{id}")
    deployed.bucket.removed.clear()
    deployed.table.put(item)
    deployed.now += dt.timedelta(hours=1)
    assert deployed.sweep().done == 1
    assert deployed.bucket.removed == []


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "image"),
        ({"image": "x.png"}, "image"),
        ({"image": {"type": "image/png"}}, "image.bytes"),
        ({"image": {"type": "image/svg+xml", "bytes": 1}}, "image.type"),
        ({"image": {"type": "image/png", "bytes": 0}}, "image.bytes"),
        ({"image": {"type": "image/png", "bytes": 20_000_001}}, "image.bytes"),
        ({"image": {"type": "image/png", "bytes": "12"}}, "image.bytes"),
        ({"image": {"type": "image/png", "bytes": 1, "url": "x"}}, "image.url"),
        ({"image": IMAGE, "id": "mine"}, "id"),
        ({"image": IMAGE, "title": "t" * 257}, "title"),
    ],
    ids=str,
)
def test_what_is_refused(deployed: Deployed, body: Any, field: str) -> None:
    answer = deployed.client()("POST", "/photos", body)
    assert answer.status == 422, answer.text
    assert field in answer.fields
    assert deployed.items() == 0


def test_in_a_transaction_the_book_deletes_it_and_its_name_must_fit(deployed: Deployed) -> None:
    book = Book(deployed.table, Ledger.load(), "acme", clock=lambda: deployed.now)
    image: Any = IMAGE
    long = Photo(id="台" * 200, image=image)
    for write in (lambda t: t.create(long), lambda t: t.put(long), lambda _: book.create(long)):
        with pytest.raises(Invalid, match="name would take") as refused, book.transaction() as t:
            write(t)
        assert refused.value.field == "id"
    with book.transaction() as t:
        t.create(Photo(id="fits", image=image))
    with pytest.raises(TypeError, match="delete it by Book"), book.transaction() as t:
        t.delete(Photo.key("fits"))
    with book.transaction():
        book.delete(Photo.key("fits"))
    deployed.now += dt.timedelta(hours=1)
    assert deployed.sweep().objects == 1
    assert deployed.bucket.removed == ["acme/Photo.image/fits"]
    assert deployed.items() == 0
