"""Documents in sections, and photos with their images in S3, on the deployed stack."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import unquote, urlsplit

import boto3
import httpx

from daicho_cli.local.environment import REGION
from tests.e2e.api import TIMEOUT, client, everything

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 400


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
