"""The console: a page where people look at their data, served by the API.

Each name is loaded on its first access (`runtime.lazy_names`): few requests are for the console.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from daicho.runtime.lazy_names import lazy_imports

if TYPE_CHECKING:
    from daicho.web.console.files import ConsoleFiles as ConsoleFiles
    from daicho.web.console.login import list_login_origins as list_login_origins
    from daicho.web.console.login import make_config as make_config

__getattr__ = lazy_imports(
    __name__, {"files": ("ConsoleFiles",), "login": ("list_login_origins", "make_config")}
)
