"""Lambda `tokens`: adds tenant and roles to access tokens, before the user pool signs them."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from daicho.runtime.settings import Settings
from daicho.runtime.start_up import build_on_access
from daicho.runtime.token_claims import add_claims

if TYPE_CHECKING:
    from daicho.handlers.wiring.invocation import Context, Handler


def build(environ: Mapping[str, str]) -> Handler:
    """Wire the function up."""
    settings = Settings.parse(environ)
    names = (settings.tenant_claim, *settings.groups_claims, settings.subject_claim)

    def handler(event: Mapping[str, Any], _context: Context) -> dict[str, Any]:
        return add_claims(event, names)

    return handler


__getattr__ = build_on_access(__name__, partial(build, os.environ))
