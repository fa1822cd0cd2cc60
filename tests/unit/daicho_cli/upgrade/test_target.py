"""The version to upgrade to: one minor version at a time."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version

from daicho_cli.upgrade.errors import UpgradeError
from daicho_cli.upgrade.target import choose_target


def offer(*versions: str) -> Callable[[str], Version | None]:
    """An index with these versions."""

    def find(specifier: str) -> Version | None:
        return max(map(Version, SpecifierSet(specifier).filter(versions)), default=None)

    return find


@pytest.mark.parametrize(
    ("current", "wanted", "available", "target"),
    [
        ("0.1.0", None, "0.1.0 0.1.3", "0.1.3"),
        ("0.1.0", None, "0.1.0 0.2.0 0.2.1", "0.2.1"),
        ("0.1.0", "0.2.0", "0.2.0 0.2.1 0.3.0", "0.2.0"),
        ("0.1.0", "0.2", "0.2.0 0.2.1 0.3.0", "0.2.1"),
        ("0.1.0", "0.2.0rc1", "0.1.0 0.2.0rc1", "0.2.0rc1"),
        ("0.1.0", None, "0.1.0 0.2.0rc1", None),
        ("0.9.4", "1.0.2", "0.9.4 1.0.2", "1.0.2"),
        ("0.1.0", None, "0.1.0", None),
        ("0.1.0", "0.1.0", "0.1.0 0.2.0", None),
        ("0.2.0", None, "0.1.0", None),
    ],
)
def test_the_version_that_is_chosen(
    current: str, wanted: str | None, available: str, target: str | None
) -> None:
    found = choose_target(Version(current), wanted, offer(*available.split()))
    assert found == (Version(target) if target else None)


@pytest.mark.parametrize(
    ("current", "wanted", "available", "message"),
    [
        ("0.1.0", "0.2.0", "0.1.0 0.1.1", r"daicho 0\.2\.0 does not exist: the newest .* 0\.1\.1"),
        ("0.1.0", "0.2.0", "", r"no version of daicho is available: .*UV_FIND_LINKS"),
        ("0.1.0", None, "", "no version of daicho is available"),
        ("0.2.0", "0.1.0", "0.1.0 0.2.0", r"0\.1\.0 is older than 0\.2\.0.*choose a newer"),
        ("0.1.0", "new", "0.1.0", r"'new' is no version: write --to 0\.2\.0"),
        ("0.1.0", None, "0.2.1 0.3.0", r"from 0\.1\.0 to 0\.3\.0 .*upgrade to 0\.2 first"),
        ("0.1.0", "0.3", "0.3.0", r"upgrade to 0\.2 first \(daicho upgrade --to 0\.2\)"),
        ("0.8.0", None, "0.9.0 1.0.0", r"upgrade to 0\.9 first"),
        ("0.9.0", None, "1.0.0 1.1.0", r"upgrade to 1\.0 first"),
        ("0.9.0", None, "2.0.0", r"upgrade to 1\.0 first"),
    ],
)
def test_a_refusal_says_what_to_do(
    current: str, wanted: str | None, available: str, message: str
) -> None:
    with pytest.raises(UpgradeError, match=message):
        choose_target(Version(current), wanted, offer(*available.split()))
