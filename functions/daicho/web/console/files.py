"""The files of the console: its modules and styles at addresses that change with their content.

There is no build step: a module imports others by names such as ``console/request.js`` and
``preact``, and the import map in the page gives each name its address. The map is generated from
the folder ``static``, so a new module needs no list. Every file is read once, at the first request
for the console; a name in a request is only looked up, and is never a path.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path

from daicho.web.openapi.static_page import FOREVER, StaticPage

STATIC = Path(__file__).with_name("static")
FOLDER = "console/"
"""The addresses of the files begin with it, relative to the page at ``/console``."""
INDEX = "index.html"
MODULE_PREFIX = "console/"
"""The names of the console's own modules begin with it."""
VENDORED_MODULES = {
    "@preact/signals": "vendor/signals.mjs",
    "@preact/signals-core": "vendor/signals-core.mjs",
    "htm": "vendor/htm.mjs",
    "preact": "vendor/preact.mjs",
    "preact/hooks": "vendor/hooks.mjs",
    "uplot": "vendor/uPlot.iife.min.js",
}
"""The files of the vendored modules, by the names that import them."""
MODULES = {
    "vendor/uPlot.iife.min.js": (
        "const navigator = { language: 'en' };\n",
        "export default uPlot;\n",
    )
}
"""Lines before and after a script, that make it a module: uPlot's own is three times as large.

uPlot makes a format of numbers of the browser's language, and breaks where that is no language of
BCP 47: Chromium without a locale has ``en-US@posix``. The console is in English anyway.
"""
MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
}
"""By the ends of names. A file with another end is not served: licences, this folder's README."""

_COMMENTS = re.compile(r"^[ \t]*(?:/\*\*(?:[^*]|\*(?!/))*\*/[ \t]*|//[^\n]*)\n", re.MULTILINE)
"""Comments that have lines of their own, a sixth of what the modules would have compressed."""
_INLINE_TYPES = re.compile(r"/\*\* @(?:param|type) [^*\n]*\*/ ?")
"""Types within a line: ``(/** @type {Event} */ event)``."""
_INDENTATION = re.compile(r"^[ \t]+", re.MULTILINE)
_PLACE = re.compile(r"\{\{([\w./-]+)\}\}", re.ASCII)


class ConsoleFiles:
    """What is in the folder ``static``."""

    @cached_property
    def _pages(self) -> Mapping[str, StaticPage]:
        """The files with a media type, by their paths in the folder."""
        pages: dict[str, StaticPage] = {}
        for file in sorted(STATIC.rglob("*")):
            if media_type := MEDIA_TYPES.get(file.suffix):
                path = file.relative_to(STATIC).as_posix()
                before, after = MODULES.get(path, ("", ""))
                text = before + file.read_text("utf-8") + after
                if _is_own_module(path):
                    text = shorten(text)
                pages[path] = StaticPage(text, media_type, FOREVER)
        return pages

    @cached_property
    def assets(self) -> Mapping[str, StaticPage]:
        """The same by the last part of their addresses."""
        return {self._name(path): page for path, page in self._pages.items()}

    def _name(self, path: str) -> str:
        """The last part of the address of a file."""
        return f"{self._pages[path].digest}-{path.replace('/', '.')}"

    @cached_property
    def import_map(self) -> str:
        """The import map, as it is in the page: its hash is of exactly this text."""
        own = {f"{MODULE_PREFIX}{path}": path for path in self._pages if _is_own_module(path)}
        modules = {**own, **VENDORED_MODULES}
        imports = {name: f"./{FOLDER}{self._name(path)}" for name, path in sorted(modules.items())}
        return json.dumps({"imports": imports}, indent=1)

    @property
    def import_map_hash(self) -> str:
        """The hash that admits the import map, in the form of a content security policy."""
        digest = hashlib.sha256(self.import_map.encode()).digest()
        return f"'sha256-{base64.b64encode(digest).decode()}'"

    def render_index(self) -> str:
        """The page, with the map and addresses in the places that `index.html` marks.

        ``{{importmap}}``: the map. ``{{console.css}}``: the address of a file.
        ``{{preload}}``: links that load the modules of `static` itself at once, and not one after
        the other.

        Raises:
            ValueError: a place names no file.
        """
        text = (STATIC / INDEX).read_text("utf-8")
        return _PLACE.sub(lambda place: self._fill_place(place[1]), text)

    def _fill_place(self, name: str) -> str:
        if name == "importmap":
            return self.import_map
        if name == "preload":
            paths = [*VENDORED_MODULES.values(), *(p for p in self._pages if "/" not in p)]
            modules = [path for path in paths if not path.endswith(".css") and "uPlot" not in path]
            links = (
                f'<link rel="modulepreload" href="{FOLDER}{self._name(path)}">' for path in modules
            )
            return "\n".join(links)
        if name not in self._pages:
            raise ValueError(f"{INDEX} names {name}, which is no file of the console")
        return f"{FOLDER}{self._name(name)}"


def shorten(text: str) -> str:
    """A module without comments that have lines of their own, types within lines, and indentation.

    Lines of a template begin with spaces of the markup, which htm leaves out too.
    """
    return _INDENTATION.sub("", _INLINE_TYPES.sub("", _COMMENTS.sub("", text)))


def _is_own_module(path: str) -> bool:
    return path.endswith(".js") and not path.startswith("vendor/")
