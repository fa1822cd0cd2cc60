"""Lambda `tokens`: adds tenant and roles to access tokens, before the user pool signs them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from daicho.runtime.settings import Settings
from daicho.runtime.start_up import build_on_access
from daicho.runtime.token_claims import add_claims

if TYPE_CHECKING:
    from daicho.handlers.wiring.invocation import Context, Handler


def build(environ: Mapping[str, str]) -> Handler:
    """Wire the function up."""
    names = Settings.parse(environ).claim_names

    def handler(event: Mapping[str, Any], _context: Context) -> dict[str, Any]:
        return add_claims(event, names)

    return handler


__getattr__ = build_on_access(__name__, build)
