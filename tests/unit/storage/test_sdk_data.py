"""Clients are the same as those of botocore's own loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import botocore.session
import pytest
from botocore.config import Config
from botocore.exceptions import EndpointConnectionError

from daicho.storage.sdk_data import SERVICES, make_loader

CONFIG = Config(region_name="eu-central-1")


@pytest.mark.parametrize("service", [*sorted(SERVICES), "sts", "sso"])
def test_a_client_has_the_model_and_the_endpoint_of_botocores(service: str) -> None:
    sessions: list[Any] = [botocore.session.Session(), botocore.session.Session()]
    sessions[0].register_component("data_loader", make_loader(sessions[0]))
    ours, theirs = (session.create_client(service, config=CONFIG) for session in sessions)
    assert ours.meta.endpoint_url == theirs.meta.endpoint_url
    assert ours.meta.service_model.operation_names == theirs.meta.service_model.operation_names
    described = [each.meta.service_model._service_description for each in (ours, theirs)]
    assert json.dumps(described[0]) == json.dumps(described[1])
    rules = [each._ruleset_resolver._provider.ruleset.__dict__.keys() for each in (ours, theirs)]
    assert rules[0] == rules[1]


def test_a_profile_with_a_role_asks_sts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = tmp_path / "config"
    config.write_text(
        "[profile own]\naws_access_key_id = a\naws_secret_access_key = b\n"
        "[profile assumed]\nrole_arn = arn:aws:iam::000000000000:role/x\nsource_profile = own\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_PROFILE", "assumed")
    monkeypatch.setenv("AWS_ENDPOINT_URL_STS", "http://127.0.0.1:9")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    session = botocore.session.Session()
    session.register_component("data_loader", make_loader(session))
    client: Any = session.create_client("dynamodb", config=CONFIG)
    with pytest.raises(EndpointConnectionError, match=r"127\.0\.0\.1:9"):
        client.list_tables()
