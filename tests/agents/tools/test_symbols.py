"""Definitions and uses of names in a project, including staged edits."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.agents.tools.project import Project
from tests.harness.buffers import Buffers
from tests.harness.project import write_files
from tideate_core.agents.tools.symbols import may_use_member, signature
from tideate_core.errors import ToolError
from tideate_core.mentions import definitions_in
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from pathlib import Path

FILES = {
    "src/shop.py": "class Shop:\n    def open(self):\n        return 1\n\n\n"
    "class Door:\n    def open(self): ...\n",
    "src/main.py": "from src.shop import Shop\n\n# Shop is a class\nShop().open()\n",
    "doc/shop.md": "# Shop\n\n## Open\n",
}


async def find(project: Project, name: str, **more: Any) -> str:
    return await project.call("find_symbol", name=name, **more)


async def test_definitions_and_uses_are_found(tmp_path: Path) -> None:
    project = Project(tmp_path, FILES)
    assert await find(project, "Shop") == (
        "1 definition of Shop:\nsrc/shop.py\n1-3:\nclass Shop:\n    def open(self):\n        return 1\n\n"
        "used in code (of 2 files that have the word):\n"
        "src/main.py\n1:from src.shop import Shop\n4:Shop().open()"
    )
    assert await find(project, "Door.open", references=False) == (
        "1 definition of Door.open:\nsrc/shop.py\n7:def open(self): ... (in Door)"
    )
    assert (await find(project, "open")).startswith("2 definitions of open:\n")
    assert await find(project, "nothing") == (
        "no definition of nothing is known; search finds any text\n\nit is used nowhere else in code"
    )


async def test_staged_and_unsaved_texts_are_looked_at_in_place_of_those_on_disk(tmp_path: Path) -> None:
    write_files(tmp_path, FILES)
    project = Project(tmp_path, buffers=Buffers.typed(tmp_path / "src/main.py", "def main():\n    Store()"))
    await project.stage(
        FileChange("src/shop.py", "modify", None, "class Store:\n    ...\n"),
        FileChange("src/more.py", "create", None, "class Store: ...\n"),
    )
    assert await find(project, "Store") == (
        "2 definitions of Store:\nsrc/more.py\n1:class Store: ...\n"
        "src/shop.py\n1-2:\nclass Store:\n    ...\n\n"
        "used in code (of 3 files that have the word):\nsrc/main.py\n2:Store()"
    )
    assert (await find(project, "Shop")).startswith("no definition of Shop is known")
    await project.stage(FileChange("src/shop.py", "delete", None, None))
    assert (await find(project, "Store")).startswith("1 definition")


async def test_what_is_saved_meanwhile_is_found(tmp_path: Path) -> None:
    project = Project(tmp_path, FILES)
    await find(project, "Shop")
    write_files(tmp_path, {"src/shop.py": "\n\nclass Shop: ...\n"})
    assert "src/shop.py\n3:class Shop: ..." in await find(project, "Shop")


async def test_a_limit_says_that_there_is_more(tmp_path: Path) -> None:
    project = Project(tmp_path, {f"{number}.py": "use()\nuse()\n" for number in range(5)})
    found = await find(project, "use", limit=3)
    assert found.count(":use()") == 3
    assert "1.py\n1:use()\n+1 more in this file\n[3 more files; use a higher limit" in found


SLOTS = """\
class Slot:
    @overload
    def decode(
        self,
        raw: bytes,
    ) -> str: ...

    @overload
    def decode(self, raw: str) -> str: ...

    def decode(
        self, raw, *, table={1: (2, 3)}
    ):
        return raw
"""


async def test_definitions_come_with_their_lines_and_signatures(tmp_path: Path) -> None:
    java = "class Door {\n  @Override\n  public int open(\n    int wide) {\n    return 1;\n  }\n}\n"
    project = Project(tmp_path, {"slots.py": SLOTS, "Door.java": java})
    assert await find(project, "decode", references=False, bodies=False) == (
        "3 definitions of decode:\nslots.py\n"
        "3-6:def decode(self, raw: bytes) -> str: ... (in Slot)\n"
        "9:def decode(self, raw: str) -> str: ... (in Slot)\n"
        "11-14:def decode(self, raw, *, table={1: (2, 3)}): (in Slot)"
    )
    assert await find(project, "open", references=False, bodies=False) == (
        "1 definition of open:\nDoor.java\n2-6:@Override public int open(int wide) { (in Door)"
    )


async def test_a_member_s_references_are_narrowed_and_source_comes_before_tests(tmp_path: Path) -> None:
    uses = "from slots import Slot\n\n\ndef check(slot: Slot, decode: str, keys: dict):\n"
    uses += "    keys[decode] = slot.decode(1)\n    return Slot(decode=decode)\n"
    project = Project(
        tmp_path,
        {
            "slots.py": SLOTS,
            "a_test.py": "from slots import Slot\n" + "Slot().decode('')\n" * 43,
            "uses.py": uses,
            "mention.py": "from slots.decode import x\nprint(decode)\n",
            "other.py": "class Other:\n    def decode(self): ...\n\n\nOther().decode()\n",
        },
    )
    found = await find(project, "Slot.decode")
    assert found.partition("\n\n")[2] == (
        "used in code (of 5 files that have the word):\nuses.py\n"
        "5:keys[decode] = slot.decode(1)\na_test.py\n"
        + "".join(f"{number}:Slot().decode('')\n" for number in range(2, 7))
        + "+38 more in this file\n[2 files with the word, but without the word Slot, left out]"
    )
    found = await find(project, "Slot.decode", limit=100)
    assert "+31 more in this file" in found
    found = await find(project, "Gate.decode")
    assert "5:Other().decode()" in found
    assert found.endswith("[not narrowed to Gate: no decode is known to be defined in it]")


@pytest.mark.attack
async def test_secrets_are_not_shown(tmp_path: Path) -> None:
    key = "sk-" + "a1" * 20
    texts = {"a.py": f"KEY = '{key}'\nprint(KEY)\n", "b.py": "x = 1\nDB_PASSWORD=hunter22\n"}
    project = Project(tmp_path, {**texts, "credentials": "KEY"})
    found = await find(project, "KEY")
    assert found.startswith("no definition of KEY is known")
    assert "a.py\n2:print(KEY)" in found
    # neither is counted what is in hidden lines alone
    hidden, nowhere = [await find(project, name) for name in ("hunter22", "nowhere")]
    assert hidden.replace("hunter22", "nowhere") == nowhere


@pytest.mark.parametrize("name", ["two words", "--help", "a(b", ".", "../x", "a\0", "'; DROP --"])
async def test_what_is_no_name_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ToolError, match="is not a name; search"):
        await find(Project(tmp_path), name)


async def test_an_outline_shows_staged_texts(tmp_path: Path) -> None:
    project = Project(tmp_path, FILES)
    assert await project.call("outline", path="src/shop.py") == (
        "1-3: class Shop:\n2-3:   def open(self):\n6-7: class Door:\n7:   def open(self): ..."
    )
    assert await project.call("outline", path="doc/shop.md") == "1-3: Shop\n3:   Open"
    await project.stage(FileChange("src/shop.py", "modify", None, "print(1)"))
    assert await project.call("outline", path="src/shop.py") == "src/shop.py defines nothing (1 lines)"
    write_files(tmp_path, {"a.txt": "x"})
    with pytest.raises(ToolError, match="has no outline; read_file"):
        await project.call("outline", path="a.txt")


async def test_an_outline_has_at_most_150_entries_a_depth_and_a_filter(tmp_path: Path) -> None:
    classes = "".join(
        f"class C{at}:\n" + "".join(f"    def m{at}_{n}(self): ...\n" for n in range(20)) for at in range(20)
    )
    project = Project(tmp_path, {"a.py": classes, "b.py": "".join(f"def f{n}(): ...\n" for n in range(400))})
    lines = (await project.call("outline", path="a.py")).split("\n")
    assert lines[:2] == ["1-21: class C0:", "2:   def m0_0(self): ..."]
    assert lines[139:] == ["400-420: class C19:", "[280 more; use name or a larger depth to show them]"]
    assert len((await project.call("outline", path="a.py", depth=2)).split("\n")) == 151
    assert len((await project.call("outline", path="b.py")).split("\n")) == 151
    named = await project.call("outline", path="a.py", name="M7_1(")
    assert named == "148-168: class C7:\n150:   def m7_1(self): ..."
    assert "defines nothing with 'zz' (420 entries)" in await project.call("outline", path="a.py", name="zz")


async def test_the_outline_of_a_large_file_begins_with_the_longest_class(tmp_path: Path) -> None:
    constants = "".join(f"C{at} = {at}\n" for at in range(60))
    small = "".join(f"class S{at}:\n    def a(self): ...\n    def b(self): ...\n" for at in range(15))
    large = "class Large:\n" + "".join(f"    def m{at}(self):\n        return {at}\n" for at in range(50))
    project = Project(tmp_path, {"a.py": constants + small + large})
    lines = (await project.call("outline", path="a.py")).split("\n")
    assert sum("def m" in line for line in lines) == 50
    assert lines[-1] == "[6 more; use name or a larger depth to show them]"


async def test_definitions_that_are_too_long_are_lines(tmp_path: Path) -> None:
    long = "def act():\n" + "    x = 1\n" * 200
    project = Project(tmp_path, {"a.py": long, "b.py": "def act():\n    return 2\n"})
    assert await find(project, "act", references=False) == (
        "2 definitions of act:\na.py\n1-201:def act():\nb.py\n1-2:\ndef act():\n    return 2"
    )


TEXTS = {
    "a.py": "class A:\n    def f(self):\n        return 1\n\n    def g(self): ...\n",
    "a.go": "package a\n\nfunc f(\n\tx int,\n) int {\n\treturn x\n}\n\nvar g = 1\n",
    "a.rs": "impl A {\n    fn f() {\n        1;\n    }\n    fn g() {}\n}\n",
    "a.ts": "export function f(\n  x: number,\n) {\n  return x;\n}\nexport const g = 1;\n",
    "a.lua": "local function f()\n  return 1\nend\nfunction g() end\n",
    "a.c": "int f(void)\n{\n  return 1;\n}\n\nint g(void) { return 2; }\n",
    "a.rb": "class A\n  def f\n    1\n  end\n  def g; end\nend\n",
    "A.java": "class A {\n  int f() {\n    return 1;\n  }\n  int g() { return 2; }\n}\n",
}


@pytest.mark.parametrize("path", TEXTS)
def test_a_definition_ends_where_its_body_does(path: str) -> None:
    lines = TEXTS[path].split("\n")
    found = {one.name: one for one in definitions_in(TEXTS[path], path)}
    last = found["f"].last
    assert last > found["f"].line
    assert lines[last - 1].strip() in ("return 1", "}", "end")
    assert "return" in "".join(lines[found["f"].line - 1 : last]) or "1" in lines[last - 2]
    assert found["g"].last == found["g"].line


def test_a_long_signature_is_cut() -> None:
    lines = ["def f(", *(f"    parameter_number_{number}: int," for number in range(40)), ") -> None:"]
    told = signature(lines, 1, 42, "f")
    assert told.startswith("def f(parameter_number_0: int, parameter_number_1: int,")
    assert told.endswith("…")
    assert len(told) < 260


@pytest.mark.parametrize(
    ("line", "path", "expected"),
    [
        ("x.decode()", "a.py", True),
        ("f(decode=1)", "a.py", False),
        ("def f(decode: str):", "a.py", False),
        ("x.decoded()", "a.py", False),
        ("from a.decode import b", "a.py", False),
        ("Slot::decode(x)", "a.rs", True),
        ("slot:decode()", "a.lua", True),
        ("decode();", "A.java", True),
    ],
)
def test_a_parameter_is_no_member(line: str, path: str, expected: bool) -> None:
    assert may_use_member(line, path, "decode") is expected
