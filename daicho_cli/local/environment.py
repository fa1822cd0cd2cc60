"""The environment of programs that call the local AWS, whatever its user has set for others.

A user may have an account, a profile, a proxy of a company and a home folder that is read-only. The
local AWS is called directly and with its own credentials; only installers use a proxy.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

REGION = "us-east-1"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}
HOSTS = ("127.0.0.1", "localhost", "::1")
"""The names of this machine, which no proxy can reach."""
_FIXED = {
    **CREDENTIALS,
    "AWS_CONFIG_FILE": os.devnull,
    "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    "AWS_REGION": REGION,
    "AWS_DEFAULT_REGION": REGION,
    "AWS_EC2_METADATA_DISABLED": "true",
}
_INSTALLERS = {
    # A firewall that drops packets must not keep an installer waiting for many minutes.
    "UV_HTTP_TIMEOUT": "30",
    "npm_config_fetch_timeout": "30000",
    "npm_config_fetch_retries": "1",
}


def build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """An environment in which AWS clients call the local AWS with its credentials, directly.

    No variable of AWS is kept: a profile, an endpoint or a mode of retries that is meant for an
    account would change the calls or fail them.
    """
    kept = {name: value for name, value in environ.items() if not name.startswith("AWS_")}
    return {**kept, **_FIXED, **bypass_proxies(environ)}


def bypass_proxies(environ: Mapping[str, str]) -> dict[str, str]:
    """The variables by which calls of this machine use no proxy; those of other hosts still do."""
    listed = environ.get("no_proxy", environ.get("NO_PROXY", ""))
    hosts = [host.strip() for host in listed.split(",") if host.strip()]
    text = "*" if "*" in hosts else ",".join(dict.fromkeys([*hosts, *HOSTS]))
    return {"no_proxy": text, "NO_PROXY": text}


def build_installer_environment(
    environ: Mapping[str, str], path: str, folder: Path
) -> dict[str, str]:
    """The environment of a program that installs others.

    ``path``: the folders of programs. ``folder``: gets its caches if the home folder is read-only.
    """
    return {**_INSTALLERS, **environ, "PATH": path, "HOME": choose_home(environ, folder)}


def choose_home(environ: Mapping[str, str], folder: Path) -> str:
    """The home folder, or one below ``folder`` if nothing can be written to it."""
    home = environ.get("HOME", "")
    if home and os.access(home, os.W_OK | os.X_OK):
        return home
    replacement = folder / "home"
    replacement.mkdir(parents=True, exist_ok=True)
    return str(replacement)


def use_local_aws() -> None:
    """Let all clients of this process call the local AWS: see `build_environment`."""
    environment = build_environment(os.environ)
    os.environ.clear()
    os.environ.update(environment)
