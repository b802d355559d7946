"""The code blocks of a page, in order, run as a reader would: in one folder and one Python session.

    ```python      run; a session with >>> is compared with what it shows
    ```console     lines after `$ ` are run, and what stands below each, if anything, is what it must print
    ```{code-block}  with `:caption: NAME` is written to the file NAME
    others         are not run, and are only allowed as `text`, or where the page says so

`…` stands for anything, over several lines where it stands alone; below `<!-- figures differ -->` any number stands for
any other. Pages that use the built-in corpus show the figures of Python 3.11.7; other versions have other docstrings,
and there the blocks are run without comparing what they print. Corpora of LAPWING_CORPORA lie in the folder; a command
that names one is left out where it is not there. `lapwing serve` goes on in the background, at a port that is free,
until the page ends.
"""

from __future__ import annotations

import doctest
import os
import re
import shlex
import shutil
import subprocess
import sys
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from cli.run import Command
from serve.start import Server

from lapwing.corpus import stdlib_docstrings

CORPORA = ("reuters21578.tar.xz", "20news-bydate.tar.xz")
ADDRESS = "127.0.0.1:8000"  # where the pages say that a server is
BUILT_IN = 0x673B5C96  # CRC-32 of the built-in corpus of Python 3.11.7
LOOSE = "<!-- figures differ -->"
_NUMBER = re.compile(r"[-+]?\d[\d.,]*(?:e[-+]\d+)?")
_FENCE = re.compile(r"^(`{3,})(\{?[\w-]*\}?)[ \t]*([^\n]*)\n(.*?)^\1[ \t]*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    language: str
    caption: str | None
    text: str
    line: int
    loose: bool


def blocks(source: str) -> Iterator[Block]:
    for result in _FENCE.finditer(source):
        language, argument, text = result[2], result[3], result[4]
        caption = None
        if language == "{code-block}":
            language = argument
            options = re.match(r"(?::[\w-]+:[^\n]*\n)*", text)
            assert options is not None
            text = text[options.end() :].lstrip("\n")
            if named := re.search(r"^:caption: (\S+)$", options[0], re.MULTILINE):
                caption = named[1]
        loose = source[: result.start()].endswith(f"{LOOSE}\n")
        yield Block(language, caption, text, source.count("\n", 0, result.start()) + 1, loose)


def alike(shown: str, printed: str, *, loose: bool = False) -> bool:
    """Whether what is printed is what is shown, `…` standing for anything, and if `loose` a number for any number."""
    wanted, got = ([line.rstrip() for line in text.strip("\n").splitlines()] for text in (shown, printed))
    pattern = "\n".join(r"(?:.*)" if line.strip() == "…" else _pattern(line, loose) for line in wanted)
    return re.fullmatch(pattern, "\n".join(got), re.DOTALL) is not None


def _pattern(line: str, loose: bool) -> str:
    if not loose:
        return re.escape(line).replace("…", r"[^\n]*")
    words = (re.escape(part).replace("…", r"[^\n]*") for part in _NUMBER.split(line))
    return re.sub(r"(?:\\ )+", r" +", f"(?:{_NUMBER.pattern})".join(words)).replace(" +", " *")


@cache
def corpus_of_the_pages() -> bool:
    """Whether this Python's built-in corpus is the one whose figures the pages show."""
    return zlib.crc32("\0".join(stdlib_docstrings().documents).encode()) == BUILT_IN


class Reader:
    """One reader of one page."""

    def __init__(self, folder: Path, command: Command) -> None:
        self.folder, self.command = folder, command
        self.names: dict[str, Any] = {"__name__": "__main__"}
        self.left_out: list[str] = []
        self.compared = True
        self.server: Server | None = None
        self.runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False)
        if (corpora := os.environ.get("LAPWING_CORPORA")) is not None:
            for name in CORPORA:
                if (Path(corpora) / name).exists():
                    (folder / name).symlink_to(Path(corpora) / name)

    def follow(self, page: str, source: str) -> None:
        self.compared = "stdlib_docstrings" not in source or corpus_of_the_pages()
        for block in blocks(source):
            where = f"{page}, line {block.line}"
            if block.caption is not None:
                (self.folder / block.caption).write_text(block.text, encoding="utf-8")
            elif block.language == "python":
                self.python(block.text, where)
            elif block.language == "console":
                self.console(block.text, where, block.loose)
            else:
                assert block.language in ("text", "pycon", "{image}", "{toctree}", "{figure}"), where

    def python(self, text: str, where: str) -> None:
        if (missing := self.absent(text)) is not None:
            self.left_out.append(f"{where}: {missing} is not there")
        elif ">>> " in text:
            test = doctest.DocTestParser().get_doctest(text, self.names, where, where, 0)
            said: list[str] = []
            self.runner.run(test, out=said.append, clear_globs=False)
            self.names.update(test.globs)
            assert not any("Exception raised" in part or self.compared for part in said), "".join(said)
        else:
            exec(compile(text, where, "exec"), self.names)

    def console(self, text: str, where: str, loose: bool) -> None:
        assert text.startswith("$ "), f"{where}: a console block begins with `$ `"
        for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
            line, shown = re.match(r"((?:[^\n]*\\\n)*[^\n]*)\n?(.*)", part, re.DOTALL).groups()  # type: ignore[union-attr]
            line = line.replace("\\\n", " ").strip()
            if (missing := self.absent(line)) is not None:
                self.left_out.append(f"{where}: {missing} is not there")
                continue
            printed = self.shell(line, where)
            if shown.strip() and self.compared:
                assert alike(shown, printed, loose=loose), f"{where}: {line}\nshown:\n{shown}\nprinted:\n{printed}"

    def absent(self, text: str) -> str | None:
        return next((name for name in CORPORA if name in text and not (self.folder / name).exists()), None)

    def shell(self, line: str, where: str) -> str:
        """Of the shell only what pages show: a program with arguments, or `echo` piped into one."""
        words = shlex.split(line)
        given = b""
        if "|" in words:
            at = words.index("|")
            assert words[0] == "echo", where
            given, words = " ".join(words[1:at]).encode() + b"\n", words[at + 1 :]
        if words[:2] == ["lapwing", "serve"]:
            assert self.server is None, where
            self.server = Server(*words[2:])
            self.server.__enter__()
            return ""
        if words[0] == "lapwing":
            ran = self.command(*words[1:], stdin=given)
            assert ran.code == 0, f"{where}: {line}\n{ran.err}"
            return ran.out
        if words[0] == "curl":
            if shutil.which("curl") is None:
                self.left_out.append(f"{where}: curl is not there")
                return ""
            assert self.server is not None, where
            words = [word.replace(ADDRESS, self.server.address.removeprefix("http://")) for word in words]
            done = subprocess.run([*words, "--noproxy", "*"], check=True, capture_output=True)
            return done.stdout.decode()
        if words[0] == "python":
            return subprocess.run([sys.executable, *words[1:]], check=True, capture_output=True).stdout.decode()
        raise AssertionError(f"{where}: cannot run {line!r}")

    def close(self) -> None:
        if self.server is not None:
            self.server.__exit__()
