"""Which version a project is upgraded to: one minor version at a time."""

from __future__ import annotations

import re
from collections.abc import Callable

from packaging.version import InvalidVersion, Version

from daicho_cli.upgrade.errors import UpgradeError

FindNewest = Callable[[str], Version | None]
"""The newest available version that a specifier allows (``>=0.2,<0.3``, or '' for any)."""
SERIES = re.compile(r"\d+(\.\d+)?")


def choose_target(current: Version, wanted: str | None, find: FindNewest) -> Version | None:
    """The version to upgrade to; None if the project has it already.

    ``wanted``: a version, or a series such as ``0.2``, which means its newest version. Without it,
    the newest version of all.

    Raises:
        UpgradeError: the version does not exist, is older, or is over two minor versions away.
    """
    target = find(_build_specifier(wanted))
    if target is None:
        newest = find("")
        if newest is None:
            raise UpgradeError(
                "no version of daicho is available: check the package index, or UV_FIND_LINKS"
            )
        raise UpgradeError(f"daicho {wanted} does not exist: the newest version is {newest}")
    if target == current or (target < current and wanted is None):
        return None
    if target < current:
        raise UpgradeError(
            f"daicho {target} is older than {current}, which the project uses: an older version "
            "cannot read what a newer one has written, so choose a newer version"
        )
    _check_step(current, target, find)
    return target


def _build_specifier(wanted: str | None) -> str:
    if wanted is None:
        return ""
    try:
        version = Version(wanted)
    except InvalidVersion:
        raise UpgradeError(f"{wanted!r} is no version: write --to 0.2.0, for example") from None
    return f"=={wanted}.*" if SERIES.fullmatch(wanted) else f"=={version}"


def _check_step(current: Version, target: Version, find: FindNewest) -> None:
    """Only the next minor version is tested with the data and the lock file of the current one."""
    major, minor = current.major, current.minor
    if target.major == major and target.minor <= minor + 1:
        return
    following = find(f">={major}.{minor + 1}.0,<{major}.{minor + 2}")
    if target.major > major:
        if (target.major, target.minor) == (major + 1, 0) and not following:
            return
        series = f"{major}.{minor + 1}" if following else f"{major + 1}.0"
    else:
        series = f"{major}.{minor + 1}"
    raise UpgradeError(
        f"from {current} to {target} is more than one minor version: upgrade to {series} first "
        f"(daicho upgrade --to {series})"
    )
