"""Which stack is tested."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from daicho_cli.aws import StackError
from daicho_cli.smoke.target import find_target
from daicho_cli.terminal import OptionError

URL = "https://a1b2c3d4.execute-api.eu-central-1.amazonaws.com"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    stack = {"url": "http://localhost:4566/api/", "table": "T", "bucket": "B", "user_pool": "P"}
    local = {**stack, "client_id": "C", "endpoint": "http://127.0.0.1:4566", "region": "us-east-1"}
    (tmp_path / "stack.json").write_text(json.dumps(local), "utf-8")
    return tmp_path / "stack.json"


def test_the_local_stack_is_the_default(file: Path) -> None:
    target = find_target(None, file)
    assert (target.is_local, target.name, target.region) == (True, "Daicho-local", "us-east-1")
    assert target.url == "http://localhost:4566/api"
    assert target.resources["ArchiveBucketName"] == "B"
    assert target.open_client("s3").meta.endpoint_url == "http://127.0.0.1:4566"


def test_a_file_of_outputs_names_the_stack(file: Path, tmp_path: Path) -> None:
    outputs_file = tmp_path / "outputs.json"
    outputs = {"Other": {"Name": "x"}, "Shop-dev": {"ApiUrl": f"{URL}/", "TableName": "T"}}
    outputs_file.write_text(json.dumps(outputs), "utf-8")
    target = find_target(None, file, outputs=outputs_file, region="eu-central-1")
    assert (target.name, target.url, target.is_local) == ("Shop-dev", URL, False)
    assert target.open_client("s3").meta.region_name == "eu-central-1"


@pytest.mark.parametrize("content", ["[]", "{", '{"a": {}}', '{"a": 1}', "null"])
def test_a_file_without_an_api_is_refused(file: Path, tmp_path: Path, content: str) -> None:
    (tmp_path / "outputs.json").write_text(content, "utf-8")
    with pytest.raises(StackError, match=r"outputs\.json"):
        find_target(None, file, outputs=tmp_path / "outputs.json")


def test_an_api_alone_needs_a_token(file: Path) -> None:
    with pytest.raises(OptionError, match="--token"):
        find_target(None, file, url=URL)
    target = find_target(None, file, url=URL, token="t")
    assert (target.name, target.url) == (URL, URL)
