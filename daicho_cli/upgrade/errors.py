"""Why an upgrade cannot be checked or made."""

from __future__ import annotations

from daicho.errors import DaichoError


class UpgradeError(DaichoError):
    """An upgrade cannot be checked or made; the message is one sentence with the remedy."""
