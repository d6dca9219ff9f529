"""Changes of a bundle that no reader may accept."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import zstandard
from blake3 import blake3

from tideate_core.store import RUN, TABLES

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["MUTATIONS", "Parts", "packed", "parts_of", "sealed"]

PATHS: Final = (
    *("../out.txt", "/etc/passwd", "a/../../b", ".git/hooks/post-checkout", "a/.GIT/config", "a/."),
    *("", "a//b", "./a", "x" * 300, "a\0b", "GIT~1/config", ".git /config", "a/.tideate./x"),
    *(".g\u200dit/x", ".tideate/config.toml"),
)
TARGETS: Final = (b"/etc/passwd", b"../../../../out", b"a/../../../../../x", b".git/hooks", b"")
WRONG: Final[dict[str, tuple[Any, ...]]] = {
    "text": (1, None, ["a"], True),
    "text?": (1, ["a"], False),
    "integer": ("1", None, 2**63, -(2**63) - 1, 1.5, True),
    "integer?": ("1", 2**64, 1.5, True),
    "number?": ("1", [], True),
    "json": (1, None, "{", "@" + "0" * 64, "@../../x", "[" * 3000, '{"a":' * 800 + "1" + "}" * 800),
    "json?": (1, "{", "@" + "0" * 64, "[" * 3000),
}


@dataclass
class Parts:
    """Parsed bundle."""

    manifest: dict[str, Any]
    blobs: dict[str, bytes]
    tail: bytes = b""

    def put(self, content: bytes) -> str:
        """Add a blob."""
        name = blake3(content).hexdigest()
        if name not in self.blobs:
            self.blobs[name] = content
            self.manifest.setdefault("blobs", []).append([name, len(content)])
        return name


def parts_of(data: bytes) -> Parts:
    """Parse a bundle."""
    body = data.split(b"\n", 2)[2]
    whole = zstandard.ZstdDecompressor().decompress(body)
    end = 8 + int.from_bytes(whole[:8], "big")
    manifest, at, blobs = json.loads(whole[8:end]), end, {}
    for name, size in manifest.get("blobs", []):
        blobs[name] = whole[at : at + size]
        at += size
    return Parts(manifest, blobs)


def sealed(body: bytes, head: bytes = b"tideate-bundle 1\n") -> bytes:
    """Return a file with the right digest."""
    return head + blake3(body).hexdigest().encode() + b"\n" + body


def packed(parts: Parts) -> bytes:
    """Return the file of a bundle."""
    head = json.dumps(parts.manifest).encode()
    blobs = b"".join(parts.blobs[name] for name, _ in parts.manifest.get("blobs", []) if name in parts.blobs)
    whole = len(head).to_bytes(8, "big") + head + blobs + parts.tail
    return sealed(zstandard.ZstdCompressor(write_checksum=True).compress(whole))


def _of_parts(change: Callable[[Any, Parts], object]) -> Callable[[Any, bytes], bytes]:
    def changed(chance: Any, data: bytes) -> bytes:
        parts = parts_of(data)
        change(chance, parts)
        return packed(parts)

    return changed


def _cut(chance: Any, data: bytes) -> bytes:
    return data[: chance.randrange(len(data))]


def _flipped(chance: Any, data: bytes) -> bytes:
    at = chance.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1 :]


def _flipped_and_sealed(chance: Any, data: bytes) -> bytes:
    body = data.split(b"\n", 2)[2]
    at = chance.randrange(6, len(body))
    return sealed(body[:at] + bytes([body[at] ^ 1 << chance.randrange(8)]) + body[at + 1 :])


def _cut_and_sealed(chance: Any, data: bytes) -> bytes:
    body = data.split(b"\n", 2)[2]
    return sealed(body[: chance.randrange(len(body))])


def _followed(chance: Any, data: bytes) -> bytes:
    body = data.split(b"\n", 2)[2]
    more = chance.choice((b"x", b"\0" * 9, body, zstandard.ZstdCompressor().compress(b"more")))
    return sealed(body + more)


def _headed(chance: Any, data: bytes) -> bytes:
    versions = (b"2", b"01", b"", b"1 ", b"999999999999", b"-1")
    lines = (*(b"tideate-bundle " + one + b"\n" for one in versions), b"PK\x03\x04\n", b"")
    return sealed(data.split(b"\n", 2)[2], chance.choice(lines))


def _bomb(chance: Any, _data: bytes) -> bytes:
    zeros = b"\0" * (1 << 20)
    maker = zstandard.ZstdCompressor(level=3)
    kind = chance.randrange(3)
    if kind == 0:  # declares more than is allowed
        writer = maker.compressobj(size=600 << 20)
        return sealed(b"".join(writer.compress(zeros) for _ in range(600)) + writer.flush())
    if kind == 1:  # declares nothing
        writer = maker.compressobj()
        return sealed(b"".join(writer.compress(zeros) for _ in range(64)) + writer.flush())
    return sealed(maker.compress(len(zeros).to_bytes(8, "big") + zeros[:100]))


def _length(chance: Any, data: bytes) -> bytes:
    whole = zstandard.ZstdDecompressor().decompress(data.split(b"\n", 2)[2])
    length = chance.choice((0, 1, len(whole) + 1, 2**63, 2**64 - 1))
    return sealed(zstandard.ZstdCompressor().compress(length.to_bytes(8, "big") + whole[8:]))


def _path(chance: Any, parts: Parts) -> None:
    path = chance.choice(PATHS)
    record = chance.choice([one for one in parts.manifest["journal"] if one.get("files")])
    where = chance.randrange(5)
    if where == 0:
        chance.choice(record["files"])["path"] = path
    elif where in (1, 2):
        record["made" if where == 1 else "removed"] = [path]
    elif where == 3:
        record["modes"] = [{"path": path, "before": 0o644, "after": 0o755}]
    else:
        parts.manifest["copies"] = [{"id": "abcdef12", "files": [{**record["files"][0], "path": path}]}]


def _link(chance: Any, parts: Parts) -> None:
    target = parts.put(chance.choice(TARGETS))
    record = chance.choice([one for one in parts.manifest["journal"] if one.get("files")])
    file = chance.choice(record["files"])
    file[chance.choice(("before", "after"))] = {"kind": "link", "blob": target}


def _mode(chance: Any, parts: Parts) -> None:
    record = chance.choice([one for one in parts.manifest["journal"] if one.get("files")])
    mode = chance.choice((0o4755, 0o2755, -1, "7"))
    record["files"][0]["after"] = {"kind": "file", "blob": parts.put(b"x"), "mode": mode}


def _image(chance: Any, parts: Parts) -> None:
    record = chance.choice([one for one in parts.manifest["journal"] if one.get("files")])
    kind = chance.choice(("file", "device", "directory", None))
    record["files"][0]["before"] = {"kind": kind, "blob": "0" * 64}


def _blob(chance: Any, parts: Parts) -> None:
    blobs = parts.manifest["blobs"]
    at = chance.randrange(len(blobs))
    name, size = blobs[at]
    kind = chance.randrange(6)
    if kind == 0:
        blobs[at] = [name, size + chance.choice((1, -1, 2**40, -(2**40)))]
    elif kind == 1:
        blobs.append([name, size])
    elif kind == 2:
        parts.blobs[name] = b"?" * (size or 1)
    elif kind == 3:
        del blobs[at]
    elif kind == 4:
        parts.tail = b"tail"
    else:
        blobs[at] = ["../" + name[3:], size]


def _column(chance: Any, parts: Parts) -> None:
    rows = chance.choice(parts.manifest["rows"])
    tables = [(RUN, rows["run"])]
    tables += [(TABLES[name], row) for name, found in rows["tables"].items() for row in found]
    columns, row = chance.choice(tables)
    name = chance.choice([*columns])
    row[name] = chance.choice(WRONG[columns[name]])


def _shape(chance: Any, parts: Parts) -> None:
    rows = parts.manifest["rows"][0]
    kind = chance.randrange(7)
    if kind == 0:
        rows["tables"]["sqlite_master"] = [{"sql": "x"}]
    elif kind == 1:
        rows["run"]["lease"] = "x"
    elif kind == 2:
        del rows["run"][chance.choice([*rows["run"]])]
    elif kind == 3:
        parts.manifest["extra"] = 1
    elif kind == 4:
        parts.manifest["rows"] = []
    elif kind == 5:
        rows["workflow"]["source"] = "trusted"
    else:
        rows["workflow"]["text"] = chance.choice(("{", "[]", "1"))


def _family(chance: Any, parts: Parts) -> None:
    rows = parts.manifest["rows"]
    kind = chance.randrange(7)
    if kind == 0:
        rows.append(rows[0])
    elif kind == 1:
        rows[0]["run"]["id"] = chance.choice(("../../x", "0" * 31, "Z" * 32, "0" * 32 + "\n"))
    elif kind == 2:
        rows[0]["run"]["parent_id"] = "0" * 32
        rows[0]["run"]["parent_step"] = "x"
    elif kind == 3:
        rows[-1]["run"]["parent_id"] = "1" * 32
    elif kind == 4:
        rows.reverse()
    elif kind == 5:
        rows[0]["run"]["status"] = "running"
    else:
        rows[-1]["run"]["parent_step"] = None


def _events(chance: Any, parts: Parts) -> None:
    tables = parts.manifest["rows"][0]["tables"]
    kind = chance.randrange(6)
    if kind == 0:
        del tables["workflow_events"][0]
    elif kind == 1:
        tables["workflow_events"].append(tables["workflow_events"][0])
    elif kind == 2:
        tables["workflow_steps"].append(tables["workflow_steps"][0])
    elif kind == 3:
        tables["workflow_wishes"] = [{"wish": "cancel", "text": "", "at": 1}]
    elif kind == 4:
        tables["workflow_graphs"] = tables["workflow_graphs"] * 2
    else:
        tables["workflow_steps"][0]["status"] = "trusted"


def _memos(chance: Any, parts: Parts) -> None:
    wrong = {"1.ask:x": "1", "more_budget:1": "{}", "spent_within:x": "[]", "x.ask:turn:y": '{"turn":1}'}
    key = chance.choice([*wrong])
    row = {"step_id": "plan", "key": key, "value": wrong[key], "cursor": 0, "event": 1}
    parts.manifest["rows"][0]["tables"].setdefault("workflow_memos", []).append(row)


def _names(chance: Any, parts: Parts) -> None:
    blob = parts.put(b"{}\n")
    run = parts.manifest["rows"][0]["run"]["id"]
    kind = chance.randrange(5)
    if kind == 0:
        parts.manifest["drafts"] = [{"run": run, "name": "../../x.jsonl", "blob": blob}]
    elif kind == 1:
        parts.manifest["drafts"] = [{"run": "f" * 32, "name": "0" * 32 + ".jsonl", "blob": blob}]
    elif kind == 2:
        parts.manifest["drafts"] = [{"run": run, "name": "0" * 32 + ".jsonl", "blob": blob}] * 2
    elif kind == 3:
        parts.manifest["journal"][0]["run"] = "f" * 32
    else:
        parts.manifest["copies"] = [{"id": "../../../x", "files": []}]


def _place(chance: Any, parts: Parts) -> None:
    text = chance.choice(("\0root/../x", "\0home/../../etc/passwd", "\0etc/x", "\0root/a/./b", "\0rootx"))
    rows = parts.manifest["rows"][0]
    if chance.random() < 0.5:
        rows["workflow"]["path"] = text
    else:
        rows["tables"]["workflow_events"][0]["data"] = json.dumps({"step": text})


MUTATIONS: Final = (
    *(_cut, _flipped, _flipped_and_sealed, _cut_and_sealed, _followed, _headed, _length),
    *map(_of_parts, (_path, _link, _mode, _image, _blob, _column, _column, _shape, _family, _events)),
    *map(_of_parts, (_names, _place, _memos)),
)
BOMB: Final = _bomb
