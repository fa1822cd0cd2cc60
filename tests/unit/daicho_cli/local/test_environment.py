"""Programs that call the local AWS, on machines whose settings are for something else."""

from __future__ import annotations

import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import boto3
import pytest

from daicho_cli.local.deployed import read_digest
from daicho_cli.local.environment import (
    build_environment,
    build_installer_environment,
    choose_home,
    use_local_aws,
)
from daicho_cli.local.instance import LocalInstance
from daicho_cli.local.programs import describe_way
from daicho_cli.local.server import is_healthy
from daicho_cli.local.users import PASSWORD
from tests.support.repository import PROJECT


@pytest.fixture(autouse=True)
def environ(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """An environment of the test's own, which is dropped with it."""
    own = dict(os.environ)
    monkeypatch.setattr(os, "environ", own)
    return own


@pytest.mark.parametrize(
    ("given", "bypassed"),
    [
        ({}, "127.0.0.1,localhost,::1"),
        ({"NO_PROXY": "intranet, localhost"}, "intranet,localhost,127.0.0.1,::1"),
        ({"NO_PROXY": "a", "no_proxy": "b"}, "b,127.0.0.1,localhost,::1"),
        ({"no_proxy": "*"}, "*"),
    ],
)
def test_the_local_aws_is_called_without_a_proxy(given: dict[str, str], bypassed: str) -> None:
    built = build_environment({**given, "HTTP_PROXY": "http://proxy:3128"})
    assert (built["NO_PROXY"], built["no_proxy"]) == (bypassed, bypassed)
    assert built["HTTP_PROXY"] == "http://proxy:3128"


def test_clients_are_made_whatever_profile_and_mode_are_set(environ: dict[str, str]) -> None:
    environ |= {"AWS_PROFILE": "missing", "AWS_RETRY_MODE": "none-such"}
    use_local_aws()
    client = boto3.Session().client("dynamodb", endpoint_url="http://127.0.0.1:9")
    assert client.meta.region_name == "us-east-1"
    client.close()


def test_a_proxy_that_nobody_can_use_is_not_used(environ: dict[str, str], tmp_path: Path) -> None:
    environ |= {"ALL_PROXY": "socks5://proxy:1", "HTTP_PROXY": "http://192.0.2.1:1"}
    assert not is_healthy(LocalInstance(tmp_path, 9, PROJECT))  # at once, and without an error


def test_a_proxy_that_refuses_everything_is_not_asked(
    environ: dict[str, str], tmp_path: Path
) -> None:
    """As in a company's network: it answers 403 to what is not meant for the internet."""
    asked = list[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            is_proxied = self.path.startswith("http")
            self.send_response(403 if is_proxied else 200)
            self.end_headers()
            self.wfile.write(b'{"daicho": {"found": "x"}, "Parameter": {"Value": "digest"}}')

        do_POST = do_CONNECT = do_GET

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            proxy = f"http://127.0.0.1:{server.server_port}"
            names = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
            environ |= {name: proxy for each in names for name in (each, each.lower())}
            local = LocalInstance(tmp_path, server.server_port, PROJECT)
            assert is_healthy(local)
            use_local_aws()
            assert read_digest(local) == "digest"
        finally:
            server.shutdown()
    assert asked == ["/_ministack/health", "/"]


def test_caches_have_a_place_if_the_home_folder_has_none(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for home in ("", str(tmp_path / "file"), str(tmp_path / "missing")):
        assert choose_home({"HOME": home}, tmp_path) == str(tmp_path / "home")
    assert (tmp_path / "home").is_dir()
    assert choose_home({"HOME": str(tmp_path)}, tmp_path / "never") == str(tmp_path)


def test_an_installer_gives_up_in_time_and_the_user_may_say_when(tmp_path: Path) -> None:
    built = build_installer_environment({"UV_HTTP_TIMEOUT": "5"}, "/bin", tmp_path)
    assert (built["UV_HTTP_TIMEOUT"], built["npm_config_fetch_retries"]) == ("5", "1")
    assert (built["PATH"], built["HOME"]) == ("/bin", str(tmp_path / "home"))


def test_the_way_to_a_registry_is_named_but_no_password() -> None:
    proxy = {"https_proxy": f"http://user:{PASSWORD}@proxy"}
    assert describe_way(proxy) == "it used the proxy of https_proxy"
    assert describe_way({"HTTPS_PROXY": ""}) == "no proxy is set (HTTPS_PROXY)"
