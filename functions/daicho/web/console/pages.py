"""The routes of the console: its page, its files, and the settings of its login.

They need no token, as they hold no tenant's data: the page gets a token from the issuer, and then
calls the API as any client does.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cached_property

from daicho.runtime.token_claims import ClaimNames
from daicho.web.console.files import ConsoleFiles
from daicho.web.console.login import list_login_origins, make_config
from daicho.web.http.operation import Reply
from daicho.web.http.problems import HttpError
from daicho.web.http.request import HttpRequest
from daicho.web.openapi.pages import CONSOLE_PATH, HTML
from daicho.web.openapi.static_page import StaticPage

CONFIG = "config.json"
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

    def list_routes(self) -> Mapping[str, Callable[..., Reply]]:
        """The functions that answer GET, by path."""
        return {CONSOLE_PATH: self.show_page, f"{CONSOLE_PATH}/{{file}}": self.show_file}

    @cached_property
    def _files(self) -> ConsoleFiles:
        return ConsoleFiles()

    @cached_property
    def _page(self) -> StaticPage:
        called = " ".join(("'self'", *list_login_origins(self._settings)))
        policy = (
            f"default-src 'none'; script-src 'self' {self._files.import_map_hash}; "
            f"style-src 'self'; img-src 'self' data:; connect-src {called}; base-uri 'none'; "
            "form-action 'none'; frame-ancestors 'none'"
        )
        headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer"}
        return StaticPage(self._files.render_index(), HTML, headers=headers)

    @cached_property
    def _config(self) -> StaticPage | None:
        config = make_config(self._settings, self._title, self._claims)
        return None if config is None else StaticPage(json.dumps(config), "application/json")

    def show_page(self, request: HttpRequest) -> Reply:
        """The page itself."""
        return self._page.answer(request.headers)

    def show_file(self, request: HttpRequest, file: str) -> Reply:
        """A module or a style of the page, or the settings of the login.

        Raises:
            HttpError: 404, the page has no such file, or has another version of it; or the login
                is not set.
        """
        if file == CONFIG:
            if self._config is None:
                raise HttpError(
                    404,
                    "the login of the console is not set: give OwnIssuer console_client, "
                    "authorize_url and token_url",
                )
            return self._config.answer(request.headers)
        page = self._files.assets.get(file)
        if page is None:
            raise HttpError(
                404, f"{CONSOLE_PATH} has no file {file[:MAX_NAME]}; load the page again"
            )
        return page.answer(request.headers)
