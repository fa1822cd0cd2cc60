"""Documents in sections, and photos with their images in S3, on the deployed stack."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3
import httpx

from daicho_cli.local.instance import REGION
from tests.demonstration.e2e.delivery import delivered
from tests.e2e.api import TIMEOUT, client, everything

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400


def test_a_document_is_put_whole_and_changed_in_sections(stack: dict[str, Any]) -> None:
    sections: dict[str, Any] = {"summary": "Nothing", "figures": {"a": [1, 2.5, None]}}
    with client(stack, "acme") as api, client(stack, "globex") as globex:
        made = api.put("/documents/report", json={"title": "Yearly report", "sections": sections})
        assert (made.status_code, made.headers["etag"]) == (201, '"1"'), made.text
        changed = api.put("/documents/report/figures", json=[3], headers={"if-match": '"1"'})
        assert (changed.status_code, changed.headers["etag"]) == (200, '"2"')
        stale = api.put("/documents/report/figures", json=[4], headers={"if-match": '"1"'})
        assert stale.status_code == 412
        once = {"idempotency-key": "e2e-section"}
        for _ in range(2):
            added = api.put("/documents/report/added", json="new", headers=once)
            assert (added.status_code, added.headers["etag"]) == (201, '"3"')
        whole = api.get("/documents/report").json()["sections"]
        assert list(whole.items()) == [("summary", "Nothing"), ("figures", [3]), ("added", "new")]
        delivered(api)
        found = everything(api, "/documents", title="yearly")
        assert [each["id"] for each in found] == ["report"]
        assert globex.get("/documents/report/summary").status_code == 404

        # Two sections at once, again and again: both hold.
        def change(name: str) -> None:
            for n in range(5):
                assert api.put(f"/documents/report/{name}", json=n).status_code == 200

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(change, ("summary", "figures")))
        assert api.get("/documents/report").json()["sections"] == {
            "summary": 4, "figures": 4, "added": "new",
        }  # fmt: skip

        # Over the 400 KB of one item, and over the 100 items of one transaction.
        large = {"text": "x" * 900_000, **{f"{n:03d}": {"n": n} for n in range(300)}}
        put = api.put("/documents/report", json={"sections": large})
        assert put.status_code == 200, put.text
        assert api.put("/documents/report/007", json="seven").status_code == 200
        assert api.get("/documents/report").json()["sections"] == {**large, "007": "seven"}
        too_large = api.put("/documents/report/more", json="x" * 4_200_000)
        assert (too_large.status_code, too_large.json()["errors"][0]["field"]) == (422, "sections")
        assert api.delete("/documents/report").status_code == 204
        assert api.get("/documents/report/007").status_code == 404
    dynamodb = boto3.Session("test", "test", region_name=REGION).client(
        "dynamodb", endpoint_url=stack["endpoint"]
    )
    left = dynamodb.query(
        TableName=stack["table"],
        KeyConditionExpression="PK = :pk",
        ExpressionAttributeValues={":pk": {"S": "acme#/Document#report#-"}},
    )
    assert left["Items"] == []


def test_a_photo_goes_to_s3_and_back_by_signed_urls(stack: dict[str, Any]) -> None:
    told = {"title": "Tōkyō", "image": {"type": "image/png", "bytes": len(PNG)}}
    with (
        client(stack, "acme") as api,
        client(stack, "globex") as globex,
        httpx.Client(timeout=TIMEOUT) as s3,
    ):
        made = api.post("/photos", json=told)
        assert made.status_code == 201, made.text
        photo, upload = made.json()["id"], made.json()["image"]["upload"]
        other = s3.put(upload["url"], content=PNG, headers={"content-type": "text/html"})
        assert other.status_code == 403  # it was signed for an image
        longer = s3.put(upload["url"], content=PNG + b"x", headers={"content-type": "image/png"})
        assert longer.status_code == 403  # and of another size
        put = s3.request("PUT", upload["url"], content=PNG, headers=upload["headers"])
        assert put.status_code == 200, put.text
        told = api.get(f"/photos/{photo}", params={"upload": "true"}).json()["image"]["upload"]
        for each in (upload, told):  # it is there, and stays what it is
            again = httpx.request("PUT", each["url"], content=PNG, headers=each["headers"])
            assert again.status_code == 412, again.text
        shown = api.get(f"/photos/{photo}").json()["image"]
        got = s3.get(shown["url"])
        assert (got.status_code, got.content) == (200, PNG)
        assert got.headers["content-type"] == "image/png"
        assert photo in [each["id"] for each in everything(api, "/photos")]
        assert globex.get(f"/photos/{photo}").status_code == 404
        assert globex.delete(f"/photos/{photo}").status_code == 404
        forged = shown["url"].replace("/acme/", "/globex/")
        assert s3.get(forged).status_code == 403
        assert api.delete(f"/photos/{photo}").status_code == 204
        assert api.get(f"/photos/{photo}").status_code == 404
        assert s3.get(shown["url"]).status_code == 404
    # The bucket is versioned: neither a version of it nor a mark of its deletion stays.
    _, bucket, name = urlsplit(shown["url"]).path.split("/", 2)
    buckets = boto3.Session("test", "test", region_name=REGION).client(
        "s3", endpoint_url=stack["endpoint"]
    )
    assert buckets.get_bucket_versioning(Bucket=bucket)["Status"] == "Enabled"
    left = buckets.list_object_versions(Bucket=bucket, Prefix=unquote(name))
    assert not (left.get("Versions") or left.get("DeleteMarkers"))
    # It may still be put there for a quarter of an hour, so the sweep will look once more.
    functions = boto3.Session("test", "test", region_name=REGION).client(
        "lambda", endpoint_url=stack["endpoint"]
    )
    swept = functions.invoke(FunctionName=stack["functions"]["sweep"], Payload=b"{}")
    report = json.loads(swept["Payload"].read())
    assert (report["failed"], report["waiting"]) == (0, 0)
