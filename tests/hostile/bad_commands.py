"""Commands that break the rules, to prove that each check can fail."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from tests.hostile.place import SECRET

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tests.hostile.place import Place


def _write_home(place: Place) -> None:
    (place.home / ".bashrc").write_text("alias ll='./evil.sh'\n")


def _make_executable(place: Place) -> None:
    (place.home / ".bashrc").chmod(0o755)


def _touch(place: Place) -> None:
    os.utime(place.home / "Documents" / "precious.txt", (1, 1))


def _follow_a_link(place: Place) -> None:
    (place.home / "made-through-a-link").write_text("x")


def _write_sibling(place: Place) -> None:
    (place.sibling / "helper.sh").unlink()


def _write_state(place: Place) -> None:
    (place.home / ".local" / "state" / "tideate" / "journal.key").write_text("x")


def _write_project(place: Place) -> None:
    (place.project / ".envrc").write_text("./evil.sh\n")


def _start(place: Place) -> None:
    subprocess.run(["/bin/true"], check=True)


def _start_script(place: Place) -> None:
    subprocess.run([sys.executable, "-c", "import os; os.execv('./evil.sh', ['evil'])"], check=False)


def _start_python(place: Place) -> None:
    (place.scratch / "evil.py").write_text("x = 1\n")
    subprocess.run([sys.executable, str(place.scratch / "evil.py")], check=True)


def _leave(place: Place) -> None:
    if os.fork() == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)


def _hang(place: Place) -> None:
    time.sleep(60)


def _eat(place: Place) -> None:
    assert len(bytearray(os.urandom(1024)) * (600 * 1024)) > 0


def _raise(place: Place) -> None:
    raise RuntimeError("no word for a person")


def _tell(place: Place) -> None:
    print(SECRET)


def _escape(place: Place) -> None:
    print("\x1b[2J")


def _ask_model(place: Place) -> None:
    with suppress(OSError):
        body = json.dumps({"messages": [{"role": "user", "content": SECRET}]}).encode()
        urllib.request.urlopen(f"{place.model_url}/chat/completions", data=body, timeout=5)


def _ask_evil(place: Place) -> None:
    with suppress(OSError):
        urllib.request.urlopen(place.evil_url, timeout=5)


BY_NAME: Final[Mapping[str, Callable[[Place], None]]] = {
    f"bad-{work.__name__.strip('_').replace('_', '-')}": work
    for work in (
        *(_write_home, _make_executable, _touch, _follow_a_link, _write_sibling, _write_state),
        *(_write_project, _start, _start_script, _start_python, _leave, _hang, _eat, _raise),
        *(_tell, _escape, _ask_model, _ask_evil),
    )
}

CAUGHT: Final[Mapping[str, str]] = {
    "bad-write-home": "home: .bashrc changed",
    "bad-make-executable": "home: .bashrc changed",
    "bad-touch": "home: Documents/precious.txt changed",
    "bad-follow-a-link": "home: made-through-a-link made",
    "bad-write-sibling": "sibling: helper.sh removed",
    "bad-write-state": "state: journal.key changed",
    "bad-write-project": "project: .envrc made",
    "bad-start": "started: /bin/true",
    "bad-start-script": "started: evil",
    "bad-start-python": "started: ",
    "bad-leave": "left: ",
    "bad-hang": "time: ",
    "bad-eat": "memory: ",
    "bad-raise": "traceback: ",
    "bad-tell": "told: a secret of the home",
    "bad-escape": "told: an escape sequence",
    "bad-ask-model": "sent: a secret of the home",
    "bad-ask-evil": "asked: ",
}
"""Expected beginning of each report."""
