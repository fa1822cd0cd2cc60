"""The routes of the console: its page, its files, and the settings of its login.

They need no token, as they hold no tenant's data: the page gets a token from the issuer, and then
calls the API as any client does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

from daicho.runtime.token_claims import ClaimNames
from daicho.web.console.login import make_config
from daicho.web.http.problems import HttpError
from daicho.web.openapi.pages import CONSOLE_PATH
from daicho.web.openapi.static_page import StaticPage, build_application

if TYPE_CHECKING:
    from daicho.web.console.files import ConsoleFiles

CONFIG = "config.json"
LOGIN_ENDPOINTS = ("authorize", "token", "revoke")
"""The settings with the addresses of the issuer that the page calls besides its own."""
MAX_NAME = 100
"""Characters of a name that a problem repeats."""


class ConsolePages:
    """The console of one API. ``settings``, ``claims``: see `make_config`; ``title``: the API's."""

    def __init__(
        self,
        settings: Mapping[str, str],
        title: str,
        claims: ClaimNames,
    ) -> None:
        self._settings, self._title, self._claims = settings, title, claims

    def list_routes(self) -> Mapping[str, Callable[..., StaticPage]]:
        """The functions that find the pages, by path."""
        return {CONSOLE_PATH: lambda: self._page, f"{CONSOLE_PATH}/{{file}}": self.find_file}

    @cached_property
    def _files(self) -> ConsoleFiles:
        from daicho.web.console.files import ConsoleFiles  # noqa: PLC0415  # ADR 0158

        return ConsoleFiles()

    @cached_property
    def _page(self) -> StaticPage:
        called = [self._settings.get(name, "") for name in LOGIN_ENDPOINTS]
        scripts = f"'self' {self._files.import_map_hash}"
        return build_application(self._files.render_index(), called, scripts=scripts)

    @cached_property
    def _config(self) -> StaticPage | None:
        config = make_config(self._settings, self._title, self._claims)
        return None if config is None else StaticPage(json.dumps(config), "application/json")

    def find_file(self, file: str) -> StaticPage:
        """A module or a style of the page, or the settings of the login.

        Raises:
            HttpError: 404, the page has no such file, or has another version of it; or the login
                is not set.
        """
        page = self._config if file == CONFIG else self._files.assets.get(file)
        if page is not None:
            return page
        if file == CONFIG:
            raise HttpError(
                404,
                "the login of the console is not set: give OwnIssuer console_client, "
                "authorize_url and token_url",
            )
        raise HttpError(404, f"{CONSOLE_PATH} has no file {file[:MAX_NAME]}; load the page again")
