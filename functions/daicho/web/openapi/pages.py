"""The pages that describe the API: its OpenAPI document, a page to try it on, and the problems.

The root links to them, and to the console.

They need no token. The document is written when it is first asked for, and not at the start.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from html import escape
from typing import Any

from daicho.web.http import problem_types
from daicho.web.http.operation import Operation
from daicho.web.http.problems import HttpError
from daicho.web.openapi.static_page import HTML, StaticPage, build_page
from daicho.web.openapi.swagger import SwaggerUi

DOCS_PATH = "/docs"
DOCUMENT_PATH = "/openapi.json"
ROOT_PATH = "/"
CONSOLE_PATH = "/console"
"""The page of `daicho.web.console`, if the API has one."""
PUBLIC_PATHS = (ROOT_PATH, DOCS_PATH, DOCUMENT_PATH, problem_types.PATH, CONSOLE_PATH)
"""Paths that need no token: they hold no tenant's data. So do those below `PUBLIC_FOLDERS`."""
PUBLIC_FOLDERS = (f"{DOCS_PATH}/", f"{problem_types.PATH}/", f"{CONSOLE_PATH}/")
_PROBLEMS_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_ROOT_POLICY = (
    "default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'none'"
)
_ROOT = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
:root {{ color-scheme: light dark; font-family: system-ui, sans-serif; line-height: 1.6 }}
body {{ color: light-dark(#1a1d21, #e6e8eb); background: light-dark(#fff, #16181b) }}
a {{ color: light-dark(#0b57d0, #8ab4f8) }}
main {{ max-width: 40rem; margin: 4rem auto; padding: 0 1rem }}
</style>
</head>
<body>
<main>
<h1>{title}</h1>
{links}
</main>
</body>
</html>
"""
_LINKS = (
    (CONSOLE_PATH, "Console: look at data, and change it"),
    (DOCS_PATH, "Documentation of the API"),
    (DOCUMENT_PATH, "The same as an OpenAPI document"),
    (problem_types.PATH, "Problems, and their remedies"),
)


class ApiPages:
    """The pages of one API. ``examples`` are those of the document, by entity."""

    def __init__(
        self,
        operations: Sequence[Operation],
        server: str,
        examples: Mapping[str, Any],
        title: str,
        *,
        has_console: bool = False,
    ) -> None:
        self._has_console = has_console
        self._operations, self._server = operations, server
        self._examples, self._title = examples, title

    def list_routes(self) -> Mapping[str, Callable[..., StaticPage]]:
        """The functions that find the pages, by path."""
        return {
            ROOT_PATH: lambda: self._root,
            DOCS_PATH: lambda: self._swagger_ui.page,
            f"{DOCS_PATH}/{{asset}}": self.find_asset,
            DOCUMENT_PATH: lambda: self._document,
            problem_types.PATH: self.find_problems,
            f"{problem_types.PATH}/{{name}}": self.find_problems,
        }

    @cached_property
    def _document(self) -> StaticPage:
        from daicho.web.openapi.document import describe_operations  # noqa: PLC0415  # ADR 0158

        document = describe_operations(
            self._operations,
            server=self._server,
            examples=self._examples,
            title=self._title,
        )
        return StaticPage(json.dumps(document), "application/json")

    @cached_property
    def _swagger_ui(self) -> SwaggerUi:
        return SwaggerUi(self._title, self._server)

    @cached_property
    def _root(self) -> StaticPage:
        # At the local AWS the root may be asked for without its last slash: a link relative to
        # that would lose the path of the API.
        links = "\n".join(
            f'<p><a href="{escape(self._server or ".")}{path}">{text}</a></p>'
            for path, text in _LINKS
            if path != CONSOLE_PATH or self._has_console
        )
        text = _ROOT.format(title=escape(self._title), links=links)
        return build_page(text, _ROOT_POLICY)

    def find_asset(self, asset: str) -> StaticPage:
        """A script or a style of the page to read the document and to try the API.

        Raises:
            HttpError: 404, the page has no such asset, or has another version of it.
        """
        page = self._swagger_ui.assets.get(asset)
        if page is None:
            raise HttpError(404, f"{DOCS_PATH} has no asset {asset[:100]}; load it again")
        return page

    def find_problems(self, name: str | None = None) -> StaticPage:
        """The page of one problem, or of all of them.

        Raises:
            HttpError: 404, there is no problem of that name.
        """
        text = problem_types.render_page(name)
        if text is None:
            raise HttpError(404, f"no problem is called {name}")
        return StaticPage(text, HTML, headers={"Content-Security-Policy": _PROBLEMS_POLICY})
