"""Bytes of the command line and of stdin: decoded as UTF-8, or refused before a run begins."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, strategies as st

from tests.harness.commands import MODULE
from tideate_core.cli.arguments import as_text
from tideate_core.errors import InvalidInput

if TYPE_CHECKING:
    from tests.harness.model_server import ModelServer
    from tests.harness.shell import Shell

LOCALES = {
    "utf-8": {"LANG": "C.UTF-8"},
    "posix": {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
}
FLOW = "inputs:\n  a: {type: string}\nsteps:\n  - id: x\n    task: 'say {{ inputs.a }}'\n"


def run(
    shell: Shell, words: list[str | bytes], stdin: bytes = b"", locale: str = "utf-8"
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", MODULE, *words],
        env={**shell.env, **LOCALES[locale]},
        cwd=shell.project,
        input=stdin,
        capture_output=True,
        check=False,
        timeout=60,
    )


@given(st.binary(max_size=20))
def test_a_word_is_what_its_bytes_are_in_utf8_or_refused(data: bytes) -> None:
    word = data.decode("ascii", "surrogateescape")  # as Python has it in a POSIX locale
    try:
        wanted = data.decode()
    except UnicodeDecodeError:
        with pytest.raises(InvalidInput, match="the prompt is not UTF-8"):
            as_text(word, "the prompt")
    else:
        assert as_text(data.decode("utf-8", "surrogateescape"), "the prompt") == wanted


@pytest.mark.slow
@pytest.mark.parametrize("locale", LOCALES)
def test_what_is_no_utf8_is_refused_before_a_run_begins(
    shell: Shell, answering: ModelServer, locale: str
) -> None:
    shell.write("w.yaml", FLOW)
    refused = {
        "the prompt": run(shell, ["run", "ask", b"caf\xe9"], locale=locale),
        "stdin": run(shell, ["run", "ask", "-"], b"caf\xe9 please\n", locale),
        "-i a=": run(shell, ["run", "w.yaml", "-i", b"a=\xff"], locale=locale),
    }
    for name, done in refused.items():
        assert done.returncode == 2, (name, done.stderr)
        assert name.encode() in done.stderr
        assert b"is not UTF-8" in done.stderr
    assert json.loads(run(shell, ["history", "--json"]).stdout)["runs"] == []
    assert not answering.requests


@pytest.mark.slow
@pytest.mark.parametrize("locale", LOCALES)
def test_utf8_is_read_in_every_locale(shell: Shell, answering: ModelServer, locale: str) -> None:
    answering.answers("café", "grüße")
    shell.write("w.yaml", FLOW)
    for done in (
        run(shell, ["run", "ask", "café".encode()], locale=locale),
        run(shell, ["run", "ask", "-"], "café\r\nplease\n".encode(), locale),
        run(shell, ["run", "w.yaml", "-i", "a=café".encode()], locale=locale),
    ):
        assert done.returncode == 0, done.stderr
        assert done.stdout.decode() in ("grüße\n", "gr\\xfc\\xdfe\n")
    assert b"\\r" not in str(answering.requests[1]).encode()


@pytest.mark.slow
@pytest.mark.parametrize("locale", LOCALES)
def test_a_file_of_any_name_is_read_or_refused_in_words(
    shell: Shell, answering: ModelServer, locale: str
) -> None:
    answering.answers("what is it", "text")
    for name in (b"caf\xe9.txt", "café.txt".encode(), b"two\nlines.txt", b"a:3.txt", b"a:3"):
        (shell.project / os.fsdecode(name)).write_bytes(b"one\ntwo\n")
        for range_ in (b"", b":2") if b":" in name else (b":2",):
            done = run(shell, ["run", "ask", "what is it", "--file", name + range_], locale=locale)
            assert b"Traceback" not in done.stderr
            assert b"UnicodeEncodeError" not in done.stderr
            refused = b"\xe9" in name or not (locale == "utf-8" or name.isascii())
            assert done.returncode in ((0, 2) if refused else (0,)), (name, done.stderr)
