"""``python -m tests.console.serve``: the console over demo data in memory, for use by hand.

No local AWS is needed: changes of the page are served after a restart. CONSOLE_PORT chooses the
port.
"""

from __future__ import annotations

import time
from contextlib import suppress

import tests.conftest
from tests.console.issuer import PASSWORD
from tests.console.stack import serve_console
from tests.support import dynoxide


def main() -> None:
    """Serve until the program is interrupted."""
    assert tests.conftest.pytest_plugins  # imported for its settings: no real account is found
    with dynoxide.serving() as endpoint, serve_console(endpoint, dynoxide.client(endpoint)) as made:
        print(f"{made.url}\npassword {PASSWORD}", flush=True)  # noqa: T201
        for user in made.issuer.users:
            print(f"  {user.name}: tenant {user.tenant}, groups {list(user.groups)}", flush=True)  # noqa: T201
        with suppress(KeyboardInterrupt):
            while not made.errors:
                time.sleep(1)
        for error in made.errors:
            raise error


if __name__ == "__main__":
    main()
