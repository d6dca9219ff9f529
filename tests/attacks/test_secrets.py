"""Leaked keys, and secret files read without asking."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import pytest

from tests.harness.model_server import ModelServer
from tests.harness.project import git
from tideate_core.mentions import ContextResolver
from tideate_core.mentions.secrets import secret_in, secret_name

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.harness.shell import Shell


pytestmark = [pytest.mark.bulk, pytest.mark.attack, pytest.mark.slow]

# put together here, so that no scanner takes this file for a leak
BODY: Final = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
HEAD, FOOT = "-----BEGIN " + "PRIVATE KEY-----\n", "-----END " + "PRIVATE KEY-----\n"
PRIVATE_KEY: Final = HEAD + "".join(f"{BODY}{number:02}\n" for number in range(40)) + FOOT
VARIABLES: Final = "DB_HOST=db.example.invalid\nDB_PASSWORD=" + "hunter2hunter2\n"
HIDDEN: Final = (BODY, "hunter2hunter2")


# by the name

DISGUISED: Final = (
    *(
        ".ENV",
        ".Env.Local",
        ".env~",
        ".env.bak",
        ".env.old.1",
        ".env.orig",
        ".env copy",
        ".env_prod",
        ".env-dev",
    ),
    *(".env ", ".env.", "..env.swp", ".#.env", "#.env#", ".e\u200bnv", "\uff0eenv", "app/.flaskenv"),
    *("ID_RSA", "id_rsa.bak", "id_ed25519~", "deploy_rsa", "server.pem.old", "SERVER.KEY~", "tls.key.bak"),
    *(".netrc.bak", "_NETRC", ".authinfo", ".my.cnf", ".s3cfg", ".vault_pass.txt", ".dockerconfigjson"),
    *("Credentials", "credentials.json~", "accessKeys.csv", "token.json", "api-key.txt", "prod.tfvars.bak"),
    *(".ssh/config", "gh/hosts.yml", ".m2/settings.xml", ".psql_history", "AuthKey.p8", "office.ovpn"),
)


@pytest.mark.parametrize("name", DISGUISED)
def test_a_secret_file_is_known_by_another_case_a_copy_and_a_disguise(name: str) -> None:
    assert secret_name(name)


# by the text

TEXTS: Final = {
    "variables": VARIABLES,
    "exported": "export API_TOKEN='" + "a1b2c3d4e5'\n",
    "Windows": "A=1\r\nSECRET_KEY=" + "abcdef123\r\n",
    "Groq": "gsk_" + "a1" * 24,
    "xAI": "xai-" + "a1" * 30,
    "Slack hook": "https://hooks.slack.com/services/" + "T0000000/B0000000/" + "x1" * 12,
    "age": "AGE-SECRET-KEY-1" + "QPZRY9X8" * 8,
    "DigitalOcean": "dop_v1_" + "0a" * 32,
    "Docker": "dckr_pat_" + "a1" * 14,
    "Vault": "hvs." + "a1" * 20,
    "Telegram": "123456789:AA" + "a" * 33,
    "Azure": "AccountName=x;AccountKey=" + "A/b+" * 20,
    "curl": "curl -H 'Authorization: Bearer " + "abcdefghij1234567890'",
    "header in JSON": '{"Authorization": "Basic ' + 'dXNlcjpodW50ZXIyaHVudGVyMg=="}',
    "without an end": HEAD + BODY,
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_secret_in_an_ordinary_file_is_known(name: str) -> None:
    assert secret_in(f"some words\n{TEXTS[name]}")


@pytest.mark.parametrize(
    "piece",
    [
        *("-eyJaaaaaaaaaaaa", "-sk-aaaaaaaaaaaa", HEAD, "-----BEGIN A ", "TOKEN=", "a://", "authorization: "),
        *("-eyJaaaaaaaaaaa.eyJaaaaaaaaaaa", "A_SECRET", "PuTTY-User-Key-File-3"),
    ],
)
def test_a_text_that_is_full_of_beginnings_is_looked_through_once(piece: str) -> None:
    # what goes through it again from each beginning takes many minutes
    text = piece * (4 * 1024 * 1024 // len(piece))
    secret_in(text)


# mentions


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    (root / ".env").write_text(VARIABLES)
    (root / "notes.txt").write_text(f"# Notes\n\n{PRIVATE_KEY}")
    (root / "notes.md").write_text(f"{HEAD}{BODY}\n# Middle\n\n{BODY}\n\n# End\n\n{FOOT}")
    (root / "linked.txt").symlink_to(".env")
    shutil.copy(root / ".env", root / "settings.txt")
    (tmp_path / "diary").write_text("my own words\n")
    (root / "diary.txt").hardlink_to(tmp_path / "diary")
    (root / "same.txt").symlink_to("diary.txt")
    (root / "own.txt").write_text("the project's\n")
    (root / "own_too.txt").hardlink_to(root / "own.txt")
    return root


@pytest.mark.parametrize(
    "mention",
    [
        *("@file:.env", "@file:./src/../.env", "@file:linked.txt", "@file:settings.txt", "@file:notes.txt"),
        *("@file:notes.txt:10-20", "@file:notes.txt:42-42", "@file:notes.md#Middle", "@file:diary.txt"),
        *("@file:diary.txt:1-1", "@file:same.txt"),
    ],
)
async def test_what_is_secret_comes_with_a_question_only(root: Path, mention: str) -> None:
    (root / "src").mkdir()
    item = await ContextResolver(root).resolve(mention)
    assert item.needs_consent
    assert item.content == ""


@pytest.mark.parametrize("mention", ["@file:own.txt", "@file:notes.txt:1-2", "@tree"])
async def test_what_is_the_projects_own_comes_without_one(root: Path, mention: str) -> None:
    item = await ContextResolver(root).resolve(mention)
    assert not item.needs_consent
    assert not any(one in item.content for one in HIDDEN)


def test_symbols_of_the_project_leave_out_what_is_linked_from_elsewhere(shell: Shell) -> None:
    shell.write("a.py", "def ours(): ...\n")
    (shell.home / "b.py").write_text("def theirs(): ...\n")
    (shell.project / "b.py").hardlink_to(shell.home / "b.py")
    done = shell.run("context", "show", "@symbols")
    assert "ours" in done.stdout
    assert "theirs" not in done.stdout


# changes


def change_the_middle(root: Path) -> None:
    (root / "notes.txt").write_text(f"# Notes\n\n{PRIVATE_KEY}".replace("20\n", "xx\n"))


def imitate_a_header(root: Path) -> None:
    lines = PRIVATE_KEY.splitlines(keepends=True)
    lines.insert(2, "x\x0cdiff --git a/own.txt b/own.txt\n")
    (root / "own.txt").write_text("".join(lines))


def move(root: Path) -> None:
    (root / "plain").write_text("A=1\nB=2\nPASS hunter2hunter2\nC=3\n")
    (root / "plain").replace(root / ".env.old")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "secret")
    git(root, "mv", ".env.old", "plain.txt")


def link(root: Path) -> None:
    (root.parent / "elsewhere").write_text("hunter2hunter2\n")
    (root / "own.txt").unlink()
    (root / "own.txt").hardlink_to(root.parent / "elsewhere")


def write_another_case(root: Path) -> None:
    (root / ".ENV").write_text("A hunter2hunter2\n")
    git(root, "add", "-A")


def name_as_a_pattern(root: Path) -> None:
    for name in ("*", ":(glob)**", ":/"):
        (root / name.replace("/", "")).write_text("x\n")
    (root / ".env").write_text("B hunter2hunter2\n")
    git(root, "add", "-A")


CHANGES: Final[dict[str, Callable[[Path], Any]]] = {
    "a deleted .env": lambda root: (root / ".env").unlink(),
    "a deleted .env that git was told of": lambda root: git(root, "rm", "-q", ".env"),
    "a deleted private key": lambda root: (root / "notes.txt").unlink(),
    "a changed .env": lambda root: (root / ".env").write_text("A hunter2hunter2\n"),
    "another case": write_another_case,
    "a moved .env.old": move,
    "a link to .env": lambda root: git(root, "add", "-A"),
    "the middle of a private key": change_the_middle,
    "a line that looks like the next file": imitate_a_header,
    "a hard link": link,
    "names that are patterns of git": name_as_a_pattern,
}


def each_file(root: Path) -> list[str]:
    """Return a `@diff` mention for each changed file, including deleted ones."""
    return [f"@diff:{name}" for name in {*(one.name for one in root.iterdir() if one.is_file()), ".env"}]


@pytest.mark.parametrize("whole", [True, False])
@pytest.mark.parametrize("name", CHANGES)
async def test_changes_are_told_without_secrets(root: Path, name: str, whole: bool) -> None:
    (root / "diary.txt").unlink()
    git(root, "init", "-q", "-b", "main")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "start")
    CHANGES[name](root)
    for mention in ["@diff"] if whole else each_file(root):
        item = await ContextResolver(root).resolve(mention)
        assert not any(one in item.content for one in HIDDEN), item.content


# a model that plans to see a secret


@pytest.mark.parametrize("name", [".env", "linked.txt", "settings.txt", "notes.txt", "diary.txt"])
def test_a_plan_shows_no_secret_to_the_model_without_a_question(
    shell: Shell, answering: ModelServer, name: str
) -> None:
    shell.write(".env", VARIABLES)
    shell.write("settings.txt", VARIABLES)
    shell.write("notes.txt", PRIVATE_KEY)
    (shell.project / "linked.txt").symlink_to(".env")
    (shell.home / "diary").write_text("hunter2hunter2\n")
    (shell.project / "diary.txt").hardlink_to(shell.home / "diary")
    files = [{"action": "modify", "path": name, "why": "tidy"}]
    answering.answers("Which files have to be", {"files": files})
    answering.answers("", "nothing")
    done = shell.run("run", "multi_file", "tidy up", "--yes")
    assert done.returncode == 3, done.stderr
    assert "no person agreed to send it" in done.stderr
    assert not any(one in str(answering.requests) for one in HIDDEN)
    assert not any(found(shell, done, one) for one in HIDDEN)


# keys

KEY: Final = "sk-" + "Key/7+that=must" + "-not-come-out-0123456789"
FORMS: Final = (KEY, KEY.replace("/", "\\/"), quote(KEY), quote(KEY, safe=""))


def found(shell: Shell, done: subprocess.CompletedProcess[str], secret: str) -> list[str]:
    """Return the places of a secret: in the output, or in a file of the home except the person's own."""
    places = [name for name in ("stdout", "stderr") if secret in getattr(done, name)]
    files = [path for base in (shell.home / "state", shell.project / ".tideate") for path in base.rglob("*")]
    return [
        *places,
        *(str(path) for path in files if path.is_file() and secret.encode() in path.read_bytes()),
    ]


@pytest.fixture
def keyed(shell: Shell, server: ModelServer) -> Shell:
    """A model server that requires a key from a variable."""
    configure(shell, server, 'api_key_env = "FAKE_KEY"')
    shell.env["FAKE_KEY"] = KEY
    shell.env["OPENAI_API_KEY"] = KEY
    return shell


def configure(shell: Shell, server: ModelServer, key: str, url: str = "") -> None:
    address = url or server.base_url
    shell.configure(
        f'adapter = "fake"\n[adapters.fake]\nbase_url = "{address}"\nmodel = "scripted"\n'
        f"tools = false\n{key}\n"
    )


def message(words: str) -> dict[str, Any]:
    return {"error": {"message": words, "type": "invalid_request_error", "code": None}}


ECHOES: Final[dict[str, tuple[int, Any]]] = {
    "as it is": (401, message(f"Incorrect API key provided: {KEY}.")),
    "as a header": (403, message(f"Authorization: Bearer {KEY}")),
    "in a refused request": (400, message(f"headers {{'authorization': 'Bearer {KEY}'}}")),
    "in an address": (404, message(f"no /v1/x?key={quote(KEY, safe='')} and ?key={quote(KEY)}")),
    "in JSON in JSON": (400, message('{"key": "' + KEY.replace("/", "\\/") + '"}')),
    "in another shape": (401, {"detail": [{"msg": f"bad {KEY}"}], KEY: KEY}),
    "as a text": (400, f"<html>{KEY}</html>"),
    "where words are cut off": (400, message("x" * 480 + KEY)),
    "too often": (429, message(f"{KEY} " * 1000)),
    "on its side": (500, message(f"stack: {KEY}")),
}


@pytest.mark.parametrize("name", ECHOES)
def test_a_server_that_echoes_the_key_gets_it_nowhere(keyed: Shell, server: ModelServer, name: str) -> None:
    status, body = ECHOES[name]
    server.fails("", status, body=body, headers={"Retry-After": "0"})
    done = keyed.run("run", "ask", "what is this?", "--json")
    assert done.returncode == 1, done.stderr
    assert server.headers[0]["authorization"] == f"Bearer {KEY}"
    for form in FORMS:
        assert not found(keyed, done, form)


def test_a_key_is_in_nothing_that_a_run_leaves(keyed: Shell, server: ModelServer, tmp_path: Path) -> None:
    keyed.env["TIDEATE_RECORD"] = str(tmp_path / "state" / "recording")
    server.answers("", "an answer")
    done = keyed.run("run", "ask", "what is this?", "--json")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "state" / "recording").exists()
    run = keyed.run("history", "--json").stdout.split('"execution_id"')[-1].split('"')[1]
    for command in (["show", run], ["show", run, "--json"], ["history"], ["doctor"], ["trust"]):
        done = keyed.run(*command)
        assert not found(keyed, done, KEY), command


@pytest.mark.parametrize("name", ["X-Api-Key", "X-Trace", "Proxy-Authorization"])
def test_a_key_in_a_header_is_sent_and_is_in_nothing_that_a_run_leaves(
    shell: Shell, server: ModelServer, name: str
) -> None:
    value = KEY if name == "X-Api-Key" else f"Bearer {KEY.replace('+', '').replace('=', '')}"
    secret = value.split()[-1]
    configure(shell, server, f'headers = {{ {name} = "{value}" }}')
    server.models = [f"model-{secret}", "scripted"]
    server.fails("what is this", 400, body=message(f"bad header: {value}"))
    server.answers("", "an answer")
    for command in (["run", "ask", "what is this?"], ["run", "ask", "hello", "--json"], ["models", "fake"]):
        done = shell.run(*command)
        assert not found(shell, done, secret), command
    assert [headers[name.lower()] for headers in server.headers] == [value] * 2
    for command in (["history"], ["doctor"], ["trust"]):
        assert not found(shell, shell.run(*command), secret), command


@pytest.mark.parametrize("command", ["doctor", "run"])
def test_a_list_of_models_that_holds_the_key_is_shown_without_it(
    keyed: Shell, server: ModelServer, command: str
) -> None:
    server.model = f"model-{KEY}"
    server.answers("", "an answer")
    done = keyed.run(*(["doctor"] if command == "doctor" else ["run", "ask", "what?", "--json"]))
    assert not found(keyed, done, KEY)


@pytest.mark.parametrize("status", [302, 307, 308])
def test_a_redirect_does_not_carry_the_key_to_another_server(
    keyed: Shell, server: ModelServer, status: int
) -> None:
    with ModelServer() as other:
        other.answers("", "an answer of somebody else")
        there = f"{other.base_url}/chat/completions".replace("127.0.0.1", "localhost")
        server.fails("", status, headers={"Location": there}, body=message("over there"))
        done = keyed.run("run", "ask", "what is this?", "--json")
        assert done.returncode == 1, done.stderr
        assert not other.requests
        assert not any(KEY in str(headers) for headers in other.headers)
        assert not found(keyed, done, KEY)


@pytest.mark.parametrize(
    "url",
    [
        f"http://user:{KEY.replace('/', '')}@127.0.0.1:1/v1",
        f"http://{KEY.replace('/', '')}@127.0.0.1:1/v1",
        f"http://127.0.0.1:1/v1?api_key={quote(KEY, safe='')}",
        f"http://127.0.0.1:1/v1#{quote(KEY, safe='')}",
        f"http://api.example.invalid@127.0.0.1:1/{quote(KEY, safe='')}",
    ],
)
def test_a_key_in_an_address_is_refused_and_not_shown(shell: Shell, server: ModelServer, url: str) -> None:
    configure(shell, server, "", url)
    done = shell.run("run", "ask", "what is this?")
    assert done.returncode != 0
    assert "api_key_env" in done.stdout + done.stderr
    assert not any(found(shell, done, form) for form in (KEY.replace("/", ""), quote(KEY, safe="")))


@pytest.mark.parametrize(
    "script",
    [
        f"echo {KEY}; exit 1",
        f"echo {KEY}; echo no >&2; exit 3",
        f"printf '{KEY}\\x01'",
    ],
)
def test_a_key_command_that_fails_shows_no_key(
    shell: Shell, server: ModelServer, tmp_path: Path, script: str
) -> None:
    program = tmp_path / "key.sh"
    program.write_text(script)
    configure(shell, server, f'api_key_command = ["sh", "{program}"]')
    done = shell.run("run", "ask", "what is this?", "--json")
    assert done.returncode == 1, done.stderr
    assert not found(shell, done, KEY)


def test_a_key_in_the_command_itself_is_cut_out_of_messages(shell: Shell, server: ModelServer) -> None:
    configure(shell, server, f'api_key_command = ["echo", "{KEY}"]')
    server.fails("", 401, body=message("no"))
    done = shell.run("run", "ask", "what is this?", "--json")
    assert done.returncode == 1
    assert not found(shell, done, KEY)


@pytest.fixture
def tested(keyed: Shell) -> Iterator[Shell]:
    """A project with trusted tests that print their whole environment."""
    keyed.write("show.py", "import os, sys\nprint(dict(os.environ))\nsys.exit(1)\n")
    keyed.write(".tideate/config.toml", '[verify]\ntests = ["python3", "show.py"]\n')
    keyed.env["MY_TOKEN"] = KEY
    assert keyed.run("trust", "--yes").returncode == 0
    yield keyed


def test_the_projects_commands_do_not_get_the_keys(tested: Shell) -> None:
    done = tested.run("mcp", "call", "test", "test_run", "--json", "--yes")
    assert "HOME" in done.stdout + done.stderr  # it did print them
    assert not found(tested, done, KEY)


def test_what_a_mention_leaves_with_the_run_is_no_secret(shell: Shell, answering: ModelServer) -> None:
    shell.write(".env", VARIABLES)
    shell.write("notes.txt", PRIVATE_KEY)
    answering.answers("", "an answer")
    done = shell.run("run", "ask", "read @file:.env and @file:notes.txt:5-9", "--yes", "--json")
    assert done.returncode == 0, done.stderr
    for secret in HIDDEN:
        assert not found(shell, done, secret)
        assert secret not in str(answering.requests)
