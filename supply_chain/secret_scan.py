"""Secrets in the files of the repository, by detect-secrets: part of `make lint`.

``.secrets.baseline`` lists the strings that look like secrets and are none. `make secrets-baseline`
writes it again, and its difference is reviewed.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from detect_secrets.core.plugins.util import get_mapping_from_secret_type_to_class
from detect_secrets.core.secrets_collection import SecretsCollection
from detect_secrets.plugins.base import BasePlugin, RegexBasedDetector
from detect_secrets.plugins.high_entropy_strings import HighEntropyStringsPlugin
from detect_secrets.settings import transient_settings

from supply_chain.locks import ROOT

BASELINE = ".secrets.baseline"
GENERATED = (
    *("requirements*.txt", "*/requirements-*.txt", "*package-lock.json"),
    *("docs/reference/openapi.json", "tests/demonstration/golden/recorded/*"),
    *("tests/infra/snapshots/*", BASELINE),
)
"""Generated files full of hashes and ids; the formats of keys are looked for in them too."""
LEFT_OUT = (
    *("KeywordDetector", "IPPublicDetector"),
    *("CloudantDetector", "IbmCloudIamDetector", "IbmCosHmacDetector", "SoftlayerDetector"),
)
"""Names like ``password`` are found by ruff's rules S105 to S107, and an IP address is no secret.
The services of IBM are not used here, and their detectors take more time than all others."""


class Finding(NamedTuple):
    """A string that looks like a secret."""

    file: str
    kind: str
    hash: str
    line: int

    @property
    def entry(self) -> Entry:
        """What the baseline contains: not the line, which changes with every edit above it."""
        return self.file, self.kind, self.hash


Entry = tuple[str, str, str]
"""File, kind and hash of a finding that is no secret."""


def list_plugins() -> list[type[BasePlugin]]:
    """The detectors that are used."""
    plugins: list[type[BasePlugin]] = list(get_mapping_from_secret_type_to_class().values())
    return sorted((p for p in plugins if p.__name__ not in LEFT_OUT), key=lambda p: p.__name__)


def list_files(root: Path = ROOT) -> list[str]:
    """The files that git knows or would add."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(  # noqa: S603
        command, cwd=root, capture_output=True, text=True, check=True
    )
    return [name for name in done.stdout.split("\0") if name and (root / name).is_file()]


def find_secrets(files: Iterable[str], root: Path = ROOT) -> Iterator[Finding]:
    """The strings that look like secrets, in files below ``root``.

    detect-secrets runs every detector on every line, which takes a minute for this repository. So a
    detector runs on the lines of a file only if it finds something in the whole text.
    """
    with transient_settings({"plugins_used": [{"name": p.__name__} for p in list_plugins()]}):
        plugins = [plugin() for plugin in list_plugins()]
        suspicious: dict[str, list[str]] = {}
        for name in files:
            text = (root / name).read_text("utf-8", errors="ignore")
            skipped = any(fnmatch(name, pattern) for pattern in GENERATED)
            for plugin in plugins:
                if skipped and isinstance(plugin, HighEntropyStringsPlugin):
                    continue
                if _may_contain(text, plugin):
                    suspicious.setdefault(type(plugin).__name__, []).append(name)
    for plugin_name, names in suspicious.items():
        with transient_settings({"plugins_used": [{"name": plugin_name}]}):
            collection = SecretsCollection(root=str(root))
            for name in names:
                collection.scan_file(name)
            for _, secret in collection:
                file = Path(secret.filename).relative_to(root).as_posix()
                yield Finding(file, secret.type, secret.secret_hash, secret.line_number)


def _may_contain(text: str, plugin: BasePlugin) -> bool:
    """Whether a detector finds something in the text. No detector matches across lines."""
    if isinstance(plugin, HighEntropyStringsPlugin):
        limit = plugin.entropy_limit
        strings = set(plugin.analyze_string(text))
        return any(plugin.calculate_shannon_entropy(string) > limit for string in strings)
    if isinstance(plugin, RegexBasedDetector):
        return any(regex.search(text) for regex in plugin.denylist)
    return True


def read_baseline(root: Path = ROOT) -> set[Entry]:
    """What looks like a secret and is none."""
    entries = json.loads((root / BASELINE).read_text("utf-8"))
    return {(entry["file"], entry["kind"], entry["hash"]) for entry in entries}


def write_baseline(findings: Iterable[Finding], root: Path = ROOT) -> None:
    """Accept findings: none of them is a secret."""
    entries = [
        {"file": file, "kind": kind, "hash": digest}
        for file, kind, digest in sorted({finding.entry for finding in findings})
    ]
    (root / BASELINE).write_text(json.dumps(entries, indent=2) + "\n", "utf-8")


def main(arguments: Sequence[str], root: Path = ROOT) -> int:
    """Print findings that are not in the baseline, and its entries that are not found any more."""
    findings = list(find_secrets(list_files(root), root))
    if "--write" in arguments:
        write_baseline(findings, root)
        return 0
    baseline = read_baseline(root)
    new = [finding for finding in findings if finding.entry not in baseline]
    for finding in new:
        sys.stdout.write(
            f"{finding.file}:{finding.line}: {finding.kind}: "
            "remove it, and revoke it if it is real\n"
        )
    gone = baseline - {finding.entry for finding in findings}
    for file, kind, _ in sorted(gone):
        sys.stdout.write(f"{file}: {kind}: not there any more; run make secrets-baseline\n")
    return 1 if new or gone else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
