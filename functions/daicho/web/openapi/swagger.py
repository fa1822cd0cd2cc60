"""Swagger UI: a small page, and its script and style at addresses that change with their content.

Script and style come with Powertools. Nothing is loaded from another origin.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from html import escape
from importlib.resources import files

from daicho.web.openapi.static_page import FOREVER, StaticPage, build_application

_PACKAGE = "aws_lambda_powertools.event_handler.openapi.swagger_ui"
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"

# `validatorUrl` is null, because Swagger UI would send the document's address to a public service.
_START = """"use strict";
window.ui = SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  docExpansion: "list",
  filter: true,
  layout: "BaseLayout",
  persistAuthorization: true,
  showCommonExtensions: true,
  showExtensions: true,
  validatorUrl: null,
});
"""

_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="{style}">
</head>
<body>
<div id="swagger-ui">This page needs JavaScript. The document itself is
<a href="openapi.json">openapi.json</a>.</div>
<script src="{script}"></script>
<script src="{start}"></script>
</body>
</html>
"""


class SwaggerUi:
    """The page of one API, and its assets. ``server``: the origin that requests go to, if given."""

    def __init__(self, title: str, server: str) -> None:
        self._title, self._server = title, server

    @cached_property
    def assets(self) -> Mapping[str, StaticPage]:
        """Script, start script and style, by the last part of their addresses."""
        sources = files(_PACKAGE)
        read = {
            "swagger-ui.js": (
                sources.joinpath("swagger-ui-bundle.min.js").read_text("utf-8"),
                _SCRIPT,
            ),
            "start.js": (_START, _SCRIPT),
            "swagger-ui.css": (sources.joinpath("swagger-ui.min.css").read_text("utf-8"), _STYLE),
        }
        pages = {name: StaticPage(text, type, FOREVER) for name, (text, type) in read.items()}
        return {f"{page.digest}-{name}": page for name, page in pages.items()}

    @cached_property
    def page(self) -> StaticPage:
        """The page. Addresses in it are relative: a path may precede those of the API."""
        script, start, style = (f"docs/{name}" for name in self.assets)
        text = _PAGE.format(title=escape(self._title), script=script, start=start, style=style)
        return build_application(text, [self._server])
