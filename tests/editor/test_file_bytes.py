"""Files with bytes different from the text of their buffer: edited in the buffer, never overwritten."""

from __future__ import annotations

import gzip
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.editor.test_task_buffers import Host
from tests.workspace.test_metadata import ACL, acl, metadata
from tideate_core.errors import EditConflict
from tideate_core.workspace import FileChange

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.harness.editor import Editor

TEXT = "alpha\nbeta\n"


def shifted(text: str, by: int) -> str:
    return "".join(one if one == "\n" else chr(ord(one) + by) for one in text)


SHIFT = """
local function shifted(lines, by)
  return vim.tbl_map(function(line)
    return (line:gsub('.', function(one) return string.char(one:byte() + by) end))
  end, lines)
end
"""
IN_PLACE = f"""
{SHIFT}
vim.api.nvim_create_autocmd('BufReadCmd', {{ pattern = '*.enc', callback = function(read)
  vim.api.nvim_buf_set_lines(0, 0, -1, false, shifted(vim.fn.readfile(read.match), -1))
  vim.bo.modified = false
end }})
vim.api.nvim_create_autocmd('BufWriteCmd', {{ pattern = '*.enc', callback = function(write)
  vim.fn.writefile(shifted(vim.api.nvim_buf_get_lines(0, 0, -1, false), 1), write.match)
  vim.bo.modified = false
end }})
"""
AROUND = f"""
{SHIFT}
local function turn(by)
  return function()
    vim.api.nvim_buf_set_lines(0, 0, -1, false, shifted(vim.api.nvim_buf_get_lines(0, 0, -1, false), by))
  end
end
for event, by in pairs({{ BufReadPost = -1, BufWritePre = 1, BufWritePost = -1 }}) do
  vim.api.nvim_create_autocmd(event, {{ pattern = '*.enc', callback = turn(by) }})
end
"""
WRITE_ONLY = """
vim.api.nvim_create_autocmd('BufWriteCmd', { pattern = '*/a.txt', callback = function()
  vim.bo.modified = false
end })
"""
LOCAL = """
vim.api.nvim_create_autocmd('BufReadPost', { pattern = '*.txt', callback = function()
  vim.api.nvim_create_autocmd('BufWriteCmd', { buffer = 0, command = 'set nomodified' })
end })
"""
XXD = r"""
vim.cmd([[
  autocmd BufReadPre *.bin let &l:binary = 1
  autocmd BufReadPost *.bin silent %!od -An -tx1 -v
]])
"""

# name, what the person has configured, bytes of the file, what is opened as, the buffer's text then
CODECS: dict[str, tuple[str, str, bytes, str, str]] = {
    "gzip": ("a.txt.gz", "", gzip.compress(TEXT.encode()), "", "alpha\nbeta"),
    "read and written in place": ("a.enc", IN_PLACE, shifted(TEXT, 1).encode(), "", "alpha\nbeta"),
    "translated around": ("a.enc", AROUND, shifted(TEXT, 1).encode(), "", "alpha\nbeta"),
    "only written in place": ("a.txt", WRITE_ONLY, TEXT.encode(), "", "alpha\nbeta"),
    "written in place, this buffer alone": ("a.txt", LOCAL, TEXT.encode(), "", "alpha\nbeta"),
    "a dump": ("a.bin", XXD, b"ab\x00\xff", "", " 61 62 00 ff"),
    "line ends that would be made one kind": ("a.txt", "", b"alpha\r\nbeta\n", "++ff=dos", "alpha\nbeta"),
    "bytes that are no character": ("a.txt", "", b"alpha\xff\nbeta\n", "++enc=utf-8", "alpha?\nbeta"),
}


@pytest.fixture
def host(editor: Editor, tmp_path: Path) -> Host:
    editor.command("filetype plugin on | runtime plugin/gzip.vim")
    return Host(editor, tmp_path / "private")


@pytest.mark.parametrize("case", CODECS)
@pytest.mark.parametrize("modified", [False, True], ids=["unmodified", "modified"])
def test_what_is_translated_is_changed_in_its_buffer_and_never_saved(
    editor: Editor, host: Host, case: str, *, modified: bool
) -> None:
    name, setup, data, how, text = CODECS[case]
    editor.lua(setup)
    path = editor.cwd / name
    path.write_bytes(data)
    editor.command(f"silent edit {how} {name}")
    assert "\n".join(editor.lines()) == text
    editor.command("setlocal noreadonly")
    if modified:
        editor.lua("vim.api.nvim_buf_set_lines(0, 0, 0, true, { 'typed' })")
    before = "\n".join(editor.lines())
    after = f"{before}\nmore"
    (change,) = host.do(host.workspace.attach([FileChange(name, "modify", before, after)]))
    host.apply(change)
    assert list(host.unsaved(name)) == [name]
    assert path.read_bytes() == data
    assert "\n".join(editor.lines()) == after
    assert host.take_back().left == []
    assert (path.read_bytes(), "\n".join(editor.lines())) == (data, before)


# what the file is opened with, its bytes, a character that its encoding lacks
STYLES: dict[str, tuple[str, bytes, str]] = {
    "utf-8": ("", "café\nb\n".encode(), ""),
    "utf-8 with a mark": ("", b"\xef\xbb\xbf" + "café\nb\n".encode(), ""),
    "dos": ("", b"a\r\nb\r\n", ""),
    "mac": ("++ff=mac", b"a\rb\r", ""),
    "no line end at the end": ("", b"a\nb", ""),
    "an old end of file": ("", b"a\r\nb\r\n\x1a", ""),
    "latin1": ("++enc=latin1", b"caf\xe9\nb\n", "€"),
    "latin1 without a line end": ("++enc=latin1", b"caf\xe9\r\nb", "€"),
    "cp1252": ("++enc=cp1252", b"caf\xe9 \x80\nb\n", "я"),
    "utf-16le with a mark": ("", b"\xff\xfe" + "café\nb\n".encode("utf-16-le"), ""),
    "utf-16 with a mark": ("", b"\xfe\xff" + "café\r\nb\r\n".encode("utf-16-be"), ""),
    "ucs-2le": ("++enc=ucs-2le", "café\nb\n".encode("utf-16-le"), "😀"),
    "ucs-4": ("++enc=ucs-4", "café\nb\n".encode("utf-32-be"), ""),
    "euc-jp": ("++enc=euc-jp", "日本\nb\n".encode("euc-jp"), "€"),
    "sjis": ("++enc=cp932", "日本\nb\n".encode("cp932"), "é"),
    "koi8-r": ("++enc=koi8-r", "слово\nb\n".encode("koi8-r"), "é"),
    "binary": ("++bin", b"a\xff\x00\nb", ""),
    "any bytes as they are": ("++enc=utf-8 ++bad=keep", b"a\xff\nb\n", ""),
}


def apply_to_last(host: Host, name: str, before: str, last: str) -> None:
    """Apply a change of the last character of a file."""
    wanted = FileChange(name, "modify", before, before[:-1] + last)
    host.apply(host.do(host.workspace.attach([wanted]))[0])


def test_a_file_keeps_encoding_line_ends_and_mark_and_lacks_no_character(
    editor: Editor, tmp_path: Path
) -> None:
    for case, (how, data, lacking) in STYLES.items():
        host = Host(editor, tmp_path / case)
        name = f"{case.replace(' ', '_')}.txt"
        path = editor.cwd / name
        path.write_bytes(data)
        editor.command(f"silent edit {how} {name}")
        before = "\n".join(editor.lines())

        if lacking:
            with pytest.raises(EditConflict, match=rf"{name}: its encoding .+ lacks '{lacking}' \(U\+"):
                apply_to_last(host, name, before, f"b {lacking}")
            assert "\n".join(editor.lines()) == before
        apply_to_last(host, name, before, "B")
        assert host.save(name) == [name]
        stands = path.read_bytes()
        assert stands != data
        assert stands.replace(b"B", b"b") == data
        assert host.take_back().left == []
        assert (path.read_bytes(), "\n".join(editor.lines())) == (data, before)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="attributes of files are Linux'")
@pytest.mark.parametrize("linked", [False, True])
def test_an_open_file_keeps_its_access_control_list_and_attributes(
    editor: Editor, host: Host, linked: bool
) -> None:
    path = editor.cwd / "a.txt"
    path.write_text(TEXT)
    os.setxattr(path, ACL, acl(named=6, mask=6))
    os.setxattr(path, "user.note", b"keep")
    if linked:
        (editor.cwd / "b.txt").hardlink_to(path)
    before = metadata(path)
    editor.command("silent edit a.txt")
    text = "\n".join(editor.lines())
    change = FileChange("a.txt", "modify", text, f"{text}\nmore")
    host.apply(host.do(host.workspace.attach([change]))[0])
    assert host.save("a.txt") == ["a.txt"]
    assert (path.read_text(), metadata(path)) == (f"{text}\nmore\n", before)
    assert host.take_back().left == []
    assert (path.read_text(), metadata(path)) == (TEXT, before)
    assert path.stat().st_nlink == 1 + linked


def test_what_the_person_typed_that_cannot_be_encoded_is_not_saved_and_not_in_the_way(
    editor: Editor, host: Host
) -> None:
    path = editor.cwd / "a.txt"
    path.write_bytes(b"caf\xe9\nb\n")
    editor.edit(path)
    editor.lua("vim.api.nvim_buf_set_lines(0, 0, 1, true, { '5 €' })")
    (change,) = host.do(host.workspace.attach([FileChange("a.txt", "modify", "5 €\nb", "6 €\nb")]))
    host.apply(change)
    assert editor.lines() == ["6 €", "b"]
    assert host.unsaved("a.txt") == {"a.txt": "its encoding latin1 lacks '€'"}
    assert path.read_bytes() == b"caf\xe9\nb\n"


GONE: dict[str, Callable[[Path], object]] = {
    "deleted": Path.unlink,
    "deleted with its folder": lambda path: shutil.rmtree(path.parent),
    "moved": lambda path: path.rename(path.parent.parent / "elsewhere.txt"),
    "moved with its folder": lambda path: path.parent.rename(path.parent.parent / "elsewhere"),
}


@pytest.mark.parametrize("case", GONE)
@pytest.mark.parametrize("when", ["before it lands", "before it is saved"])
def test_a_file_that_is_gone_does_not_come_back(editor: Editor, host: Host, case: str, when: str) -> None:
    path = editor.cwd / "d" / "a.txt"
    number = editor.edit(path, TEXT)
    assert host.do(host.workspace.read("d/a.txt")).buffer == number
    change = FileChange("d/a.txt", "modify", TEXT[:-1], "alpha\nBETA", buffer=number, tick=1)
    if when == "before it lands":
        GONE[case](path)
        with pytest.raises(EditConflict, match=r"d/a\.txt does not exist any more; nothing was written"):
            host.apply(change)
        assert editor.lines(number) == ["alpha", "beta"]
    else:
        host.apply(change)
        GONE[case](path)
        assert host.unsaved("d/a.txt") == {"d/a.txt": "its file does not exist any more"}
    assert not path.exists()


def test_a_buffer_whose_file_was_never_there_is_changed_and_a_new_file_is_saved(
    editor: Editor, host: Host
) -> None:
    typed = editor.edit("typed.txt")
    editor.set_lines(["one"])
    host.apply(FileChange("typed.txt", "modify", "one", "two", buffer=typed))
    assert editor.lines(typed) == ["two"]
    editor.edit("new/made.txt")
    host.apply(FileChange("new/made.txt", "create", None, "made"))
    assert host.save("new/made.txt") == ["new/made.txt"]
    assert (editor.cwd / "new" / "made.txt").read_text() == "made\n"
    assert not (editor.cwd / "typed.txt").exists()
