"""The packages that the lock files pin, with their hashes."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LAYER = "functions/daicho/cdk/functions/requirements-layer.txt"
"""The packages of the Lambda layer."""
VENDORED = "functions/daicho/web/console/static/vendor/README.md"
"""The packages of npm whose files the console serves."""
DEPLOYED = (LAYER, VENDORED)
"""All code of others that a stack runs, or serves to browsers."""
PYTHON_LOCKS = (
    *("requirements.txt", LAYER, "daicho_cli/local/requirements-ministack.txt"),
    *("requirements-docs.txt", "tests/support/clients/requirements-clients.txt"),
)
NODE_LOCKS = (
    "package-lock.json",
    *(f"daicho_cli/{name}/node/package-lock.json" for name in ("local", "plan")),
    *("tests/console/package-lock.json", "tests/support/clients/node/package-lock.json"),
)
PYPI, NPM = "pypi", "npm"

_PIN = re.compile(
    r"^(?P<name>[a-z0-9][a-z0-9.-]*)==(?P<version>[^ ;]+)(?: ; .+?)? \\\n(?P<rest>(?:^[ ].*\n?)+)",
    re.MULTILINE,
)
_HASH = re.compile(r"--hash=(sha256):([0-9a-f]{64})")
_VENDORED = re.compile(
    r"^\| (?P<name>\S+) (?P<version>\S+) \| <\S+> \| `(?P<kind>sha512)-(?P<value>\S+)` \|$",
    re.MULTILINE,
)
_VENDORED_FILE = re.compile(
    r"^\| `\S+` \| (?P<package>\S+ \S+) \| `\S+` \| (?P<licence>\S+) \| `[0-9a-f]{64}` \|$",
    re.MULTILINE,
)
_REQUIRED_BY = re.compile(r"^    #   (?:via )?(?! *via$)(\S.*)$|^    # via (\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Pin:
    """A package of a lock file.

    Attributes:
        registry: `PYPI` or `NPM`.
        hashes: algorithm and hexadecimal value of every file that the lock file accepts.
        required_by: names of packages; the name of a requirements file for what is named there.
        licence: an SPDX expression, if the lock file contains it.
    """

    registry: str
    name: str
    version: str
    hashes: tuple[tuple[str, str], ...]
    required_by: tuple[str, ...] = ()
    licence: str = ""


def read_pins(lock: str, root: Path = ROOT) -> tuple[Pin, ...]:
    """The packages of a lock file, in its order.

    Raises:
        ValueError: a package has no hash, or a line is none of a lock file.
    """
    text = (root / lock).read_text("utf-8")
    readers = {".json": _read_node, ".md": _read_vendored}
    pins = tuple(readers.get(Path(lock).suffix, _read_python)(text))
    for pin in pins:
        if not pin.hashes:
            raise ValueError(f"{lock} pins {pin.name} without a hash; run make lock")
    return pins


def _read_python(text: str) -> Iterator[Pin]:
    pinned = [line for line in text.splitlines() if line and line[0] not in " #"]
    matches = list(_PIN.finditer(text))
    if len(matches) != len(pinned):
        named = {match["name"] for match in matches}
        unread = next(line for line in pinned if line.partition("==")[0] not in named)
        raise ValueError(f"{unread!r} is no pin with a hash; run make lock")
    for match in matches:
        users = [first or second for first, second in _REQUIRED_BY.findall(match["rest"])]
        hashes = tuple(_HASH.findall(match["rest"]))
        yield Pin(PYPI, match["name"], match["version"], hashes, tuple(users))


def _read_node(text: str) -> Iterator[Pin]:
    for place, entry in json.loads(text)["packages"].items():
        if not place:
            continue
        algorithm, _, value = entry.get("integrity", "").partition("-")
        hashes = ((algorithm, base64.b64decode(value).hex()),) if value else ()
        name = entry.get("name") or place.rpartition("node_modules/")[2]
        yield Pin(NPM, name, entry["version"], hashes, (), entry.get("license", ""))


def _read_vendored(text: str) -> Iterator[Pin]:
    """The packages in the tables of a page about vendored files."""
    licences = {match["package"]: match["licence"] for match in _VENDORED_FILE.finditer(text)}
    rows = list(_VENDORED.finditer(text))
    listed = {f"{match['name']} {match['version']}" for match in rows}
    if listed != licences.keys():
        raise ValueError(f"the tables name different packages: {sorted(listed ^ {*licences})}")
    for match in rows:
        name, version = match["name"], match["version"]
        value = base64.b64decode(match["value"]).hex()
        hashes = ((match["kind"], value),)
        yield Pin(NPM, name, version, hashes, ("-r vendor",), licences[f"{name} {version}"])


def merge_pins(locks: Sequence[str], root: Path = ROOT) -> tuple[Pin, ...]:
    """The packages of several lock files, each version once, ordered by registry and name."""
    merged: dict[tuple[str, str, str], Pin] = {}
    for pin in (pin for lock in locks for pin in read_pins(lock, root)):
        key = (pin.registry, pin.name, pin.version)
        other = merged.get(key, pin)
        merged[key] = Pin(
            *key,
            tuple(sorted({*pin.hashes, *other.hashes})),
            tuple(sorted({*pin.required_by, *other.required_by})),
            pin.licence or other.licence,
        )
    return tuple(merged[key] for key in sorted(merged))
