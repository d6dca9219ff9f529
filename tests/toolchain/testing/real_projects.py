"""Small projects of twelve kinds and more, as their own generators lay them out, with tests that end in all ways."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

END: Final = "THE END"


@dataclass(frozen=True)
class Kind:
    """One kind of project: its files, what its CI runs, and one test file for each way in which tests end."""

    name: str
    ci: str
    """The command of its CI file."""
    runner: str
    """The program of which the counts are expected."""
    test: str
    """The test file that the texts below are."""
    mixed: str
    """A broken test, a skipped one, and one with blanks and unicode in its name."""
    counts: tuple[int, int, int, int]
    """Of the mixed ones: passed, failed, errors, skipped."""
    broken: tuple[str, str, int]
    """Name, file and line of the broken test."""
    uncollected: str
    crashes: str
    hangs: str
    leaves: str
    """It ends the runner with status 0."""
    files: Mapping[str, str] = field(default_factory=dict)
    native: str = ""
    """Makes the runner write its own report, to `{report}`; empty: it has only what it prints."""
    form: str = "junit"
    needs: str = ""
    """A program that `make test-runners` installs; empty: it is there wherever the tests are."""


PYTEST: Final = """import os, pytest, signal, time
def test_broken(): assert 1 == 2
@pytest.mark.skip
def test_later(): pass
@pytest.mark.parametrize("value", ["a b", "z\\u00f6", "x"])
def test_each(value): assert value != "a b", value
"""
PY_HANGS: Final = "import time\ndef test_before(): assert 0\ndef test_hangs(): time.sleep(600)\n"
PY_CRASH: Final = (
    "import os, signal\ndef test_before(): pass\ndef test_dies(): os.kill(os.getpid(), signal.SIGSEGV)\n"
)
PY_LEAVES: Final = "import os\ndef test_before(): pass\ndef test_leaves(): os._exit(0)\ndef test_c(): pass\n"
OF_PYTEST: Final = dict(
    runner="pytest",
    test="tests/test_a.py",
    mixed=PYTEST,
    counts=(2, 2, 0, 1),
    broken=("test_broken", "tests/test_a.py", 2),
    uncollected="import nosuch\ndef test_a(): pass\n",
    crashes=PY_CRASH,
    hangs=PY_HANGS,
    leaves=PY_LEAVES,
)
UNITTEST: Final = """import os, signal, time
import unittest
class A(unittest.TestCase):
    def test_broken(self): self.assertEqual(1, 2)
    @unittest.skip("not now")
    def test_later(self): pass
    def test_each(self):
        for value in ("a b", "z\\u00f6", "x"):
            with self.subTest(value=value): self.assertNotEqual(value, "a b")
    def test_fine(self): print("FAIL: fake (a.A)")
"""
UNIT: Final = (
    "import os, signal, time\nimport unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
)
OF_UNITTEST: Final = dict(
    runner="unittest",
    test="tests/test_a.py",
    mixed=UNITTEST,
    counts=(1, 2, 0, 1),
    broken=("test_broken", "tests/test_a.py", 4),
    uncollected="import nosuch\n",
    crashes=f"{UNIT}    def test_dies(self): os.kill(os.getpid(), signal.SIGSEGV)\n",
    hangs=f"{UNIT}    def test_hangs(self): time.sleep(600)\n",
    leaves=f"{UNIT}    def test_leaves(self): os._exit(0)\n",
)
SETTINGS: Final = "SECRET_KEY = 'x'\nINSTALLED_APPS = []\nDATABASES = {}\nUSE_TZ = True\n"
MANAGE: Final = """#!/usr/bin/env python
import os
import sys
if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_of.settings")
    from django.core.management import execute_from_command_line
    execute_from_command_line(sys.argv)
"""


def javascript(head: str, broken: str, skip: str, each: str) -> dict[str, object]:
    """Return the texts of a runner of JavaScript."""
    return dict(
        mixed=f"{head}\ntest('works', () => {{}});\n{broken}\n{skip}\n"
        f"for (const value of ['a b', 'z\\u00f6']) test(`takes ${{value}}`, () => {{ {each} }});\n",
        uncollected=f"{head}\nrequire('./nosuch');\ntest('a', () => {{}});\n",
        crashes=f"{head}\ntest('a', () => {{}});\n"
        "test('dies', () => { process.kill(process.pid, 'SIGSEGV'); return new Promise(() => {}); });\n",
        hangs=f"{head}\ntest('a', () => {{}});\n"
        "test('hangs', () => { const until = Date.now() + 600000; while (Date.now() < until); });\n",
        leaves=f"{head}\ntest('a', () => {{}});\n"
        "test('leaves', async () => { await new Promise((r) => setTimeout(r, 20)); process.exit(0); });\n"
        "test('c', () => {});\n",
    )


NODE_HEAD: Final = "const { test } = require('node:test'); const assert = require('node:assert');"
ASSERT: Final = "const assert = require('node:assert');"
BROKEN: Final = "test('breaks here', () => { assert.strictEqual(1, 2); });"


def package(script: str, *needs: str) -> dict[str, str]:
    import json

    found = {"name": "small", "version": "1.0.0", "scripts": {"test": script}}
    return {"package.json": json.dumps({**found, "devDependencies": dict.fromkeys(needs, "*")})}


KINDS: Final = (
    Kind(
        "pytest",
        "python -m pytest",
        files={"pyproject.toml": "[tool.pytest.ini_options]\n"},
        native="pytest -q --junitxml={report}",
        **OF_PYTEST,
    ),
    Kind(
        "unittest",
        "python -m unittest discover -s tests",
        files={
            "tests/__init__.py": "",
            "setup.py": "",
            ".github/workflows/ci.yml": "jobs:\n  a:\n    steps:\n      - run: python -m unittest discover -s tests\n",
        },
        **OF_UNITTEST,
    ),
    Kind(
        "django",
        "python manage.py test",
        needs="django-admin",
        files={
            "manage.py": MANAGE,
            "site_of/__init__.py": "",
            "site_of/settings.py": SETTINGS,
            "tests/__init__.py": "",
        },
        **OF_UNITTEST,
    ),
    Kind(
        "tox",
        "tox",
        needs="tox",
        files={
            "tox.ini": "[tox]\nno_package = true\n[testenv:py]\nsystem_site_packages = true\ncommands = python -m pytest -q\n"
        },
        **OF_PYTEST,
    ),
    Kind(
        "nox",
        "nox -s tests",
        needs="nox",
        files={
            "noxfile.py": "import nox\n@nox.session(python=False)\ndef tests(session):\n    session.run('pytest')\n"
        },
        **OF_PYTEST,
    ),
    Kind("make", "make test", files={"Makefile": "test:\n\tpython3 -m pytest\n"}, **OF_PYTEST),
    Kind(
        "node",
        "npm test",
        "node",
        "a.test.js",
        counts=(3, 1, 0, 1),
        broken=("breaks here", "a.test.js", 3),
        files=package("node --test"),
        native="node --test --test-reporter=junit --test-reporter-destination={report}",
        **javascript(NODE_HEAD, BROKEN, "test.skip('later', () => {});", ""),
    ),
    Kind(
        "jest",
        "npx jest",
        "jest",
        "a.test.js",
        counts=(2, 2, 0, 1),
        broken=("breaks here", "a.test.js", 3),
        needs="jest",
        files=package("jest", "jest"),
        native="jest --ci --json --outputFile={report}",
        form="jest",
        **javascript(
            ASSERT, BROKEN, "test.skip('later', () => {});", "if (value === 'a b') throw new Error(value);"
        ),
    ),
    Kind(
        "vitest",
        "npx vitest run",
        "vitest",
        "a.test.js",
        counts=(2, 2, 0, 1),
        broken=("breaks here", "a.test.js", 3),
        needs="vitest",
        files=package("vitest", "vitest"),
        native="vitest run --reporter=junit --outputFile={report}",
        **javascript(
            "import { test } from 'vitest'; import assert from 'node:assert';",
            BROKEN,
            "test.skip('later', () => {});",
            "if (value === 'a b') throw new Error(value);",
        ),
    ),
    Kind(
        "mocha",
        "npm test",
        "mocha",
        "test/a.js",
        counts=(2, 2, 0, 1),
        broken=("breaks here", "test/a.js", 3),
        needs="mocha",
        files=package("mocha", "mocha"),
        native="mocha --reporter json --reporter-option output={report}",
        form="mocha",
        **javascript(
            f"{ASSERT} const test = it;",
            BROKEN,
            "test.skip('later', () => {});",
            "if (value === 'a b') throw new Error(value);",
        ),
    ),
)
KINDS += (
    Kind(
        "cargo",
        "cargo test",
        "cargo",
        "tests/outer.rs",
        needs="cargo",
        files={
            "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n",
        },
        mixed="#[test]\nfn works() {}\n#[test]\nfn breaks_here() { assert_eq!(small::add(1, 1), 3); }\n#[test]\n#[ignore]\nfn later() {}\n#[test]\nfn größe() { assert!(true); }\n",
        counts=(2, 1, 0, 1),
        broken=("breaks_here", "tests/outer.rs", 4),
        uncollected="use nosuch::x;\n#[test]\nfn a() {}\n",
        crashes="#[test]\nfn a() {}\n#[test]\nfn dies() { std::process::abort(); }\n",
        hangs="#[test]\nfn a() {}\n#[test]\nfn hangs() { loop { std::thread::sleep(std::time::Duration::from_secs(9)); } }\n",
        leaves="#[test]\nfn a() {}\n#[test]\nfn leaves() { std::process::exit(0); }\n",
    ),
    Kind(
        "go",
        "go test ./...",
        "go",
        "small_test.go",
        needs="go",
        files={"go.mod": "module small\n\ngo 1.19\n", "small.go": "package small\n"},
        mixed='package small\n\nimport "testing"\n\nfunc TestWorks(t *testing.T) {}\nfunc TestBroken(t *testing.T) { t.Errorf("1 is not %d", 2) }\nfunc TestLater(t *testing.T) { t.Skip("not now") }\nfunc TestEach(t *testing.T) {\n\tfor _, value := range []string{"a b", "zö"} {\n\t\tt.Run(value, func(t *testing.T) { if value == "a b" { t.Error(value) } })\n\t}\n}\n',
        counts=(2, 3, 0, 1),
        broken=("TestBroken", "small_test.go", 6),
        native="go test -json ./... > {report}",
        form="go",
        uncollected='package small\n\nimport "nosuch"\n\nfunc TestA() { nosuch.X() }\n',
        crashes='package small\n\nimport ("testing"; "syscall"; "os")\n\nfunc TestA(t *testing.T) {}\nfunc TestDies(t *testing.T) { syscall.Kill(os.Getpid(), syscall.SIGKILL); select {} }\n',
        hangs='package small\n\nimport ("testing"; "time")\n\nfunc TestA(t *testing.T) {}\nfunc TestHangs(t *testing.T) { time.Sleep(time.Hour) }\n',
        leaves='package small\n\nimport ("testing"; "os")\n\nfunc TestA(t *testing.T) {}\nfunc TestLeaves(t *testing.T) { os.Exit(0) }\n',
    ),
    Kind(
        "ctest",
        "ctest --test-dir build",
        "ctest",
        "CMakeLists.txt",
        needs="ctest",
        native="ctest --test-dir build --output-junit {report}",
        mixed='cmake_minimum_required(VERSION 3.10)\nproject(small NONE)\nenable_testing()\nadd_test(NAME works COMMAND true)\nadd_test(NAME broken COMMAND sh -c "echo main.c:3:5: error: none; exit 1")\nadd_test(NAME later COMMAND sh -c "exit 77")\nset_tests_properties(later PROPERTIES SKIP_RETURN_CODE 77)\nadd_test(NAME "takes a b" COMMAND false)\nadd_test(NAME größe COMMAND true)\n',
        counts=(2, 2, 0, 1),
        broken=("broken", "main.c", 3),
        uncollected="cmake_minimum_required(VERSION 3.10)\nproject(small NONE)\nenable_testing()\nadd_test(NAME gone COMMAND ./nowhere)\n",
        crashes='cmake_minimum_required(VERSION 3.10)\nproject(small NONE)\nenable_testing()\nadd_test(NAME a COMMAND true)\nadd_test(NAME dies COMMAND sh -c "kill -SEGV $$")\n',
        hangs="cmake_minimum_required(VERSION 3.10)\nproject(small NONE)\nenable_testing()\nadd_test(NAME a COMMAND true)\nadd_test(NAME hangs COMMAND sleep 600)\n",
        leaves='cmake_minimum_required(VERSION 3.10)\nproject(small NONE)\nenable_testing()\nadd_test(NAME a COMMAND true)\nadd_test(NAME leaves COMMAND sh -c "kill -KILL $PPID")\n',
    ),
    Kind(
        "rspec",
        "rspec",
        "rspec",
        "spec/a_spec.rb",
        needs="rspec",
        files={".rspec": "", "spec/spec_helper.rb": ""},
        native="rspec -f json -o {report}",
        form="rspec",
        mixed="RSpec.describe 'A' do\n  it('works') {}\n  it('breaks here') { expect(1).to eq(2) }\n  xit('later') { raise }\n  ['a b', 'zö'].each { |v| it(\"takes #{v}\") { expect(v).not_to eq('a b') } }\nend\n",
        counts=(2, 2, 0, 1),
        broken=("breaks here", "spec/a_spec.rb", 3),
        uncollected="require 'nosuch'\nRSpec.describe('A') { it('a') {} }\n",
        crashes="RSpec.describe 'A' do\n  it('a') {}\n  it('dies') { Process.kill(:KILL, $$); sleep }\nend\n",
        hangs="RSpec.describe 'A' do\n  it('a') {}\n  it('hangs') { sleep }\nend\n",
        leaves="RSpec.describe 'A' do\n  it('a') {}\n  it('leaves') { exit!(0) }\nend\n",
    ),
    Kind(
        "minitest",
        "rake test",
        "minitest",
        "test/test_a.rb",
        needs="rake",
        files={
            "Rakefile": "require 'rake/testtask'\nRake::TestTask.new { |t| t.pattern = 'test/test_*.rb' }\n"
        },
        mixed="require 'minitest/autorun'\nclass TestA < Minitest::Test\n  def test_works; end\n  def test_broken; assert_equal 1, 2; end\n  def test_later; skip; end\n  ['a b', 'zö'].each { |v| define_method(\"test_#{v}\") { refute_equal 'a b', v } }\nend\n",
        counts=(2, 2, 0, 1),
        broken=("TestA#test_broken", "test/test_a.rb", 4),
        uncollected="require 'minitest/autorun'\nrequire 'nosuch'\n",
        crashes="require 'minitest/autorun'\nclass TestA < Minitest::Test\n  def test_a; end\n  def test_dies; Process.kill(:KILL, $$); sleep; end\nend\n",
        hangs="require 'minitest/autorun'\nclass TestA < Minitest::Test\n  def test_a; end\n  def test_hangs; sleep; end\nend\n",
        leaves="require 'minitest/autorun'\nclass TestA < Minitest::Test\n  def test_a; end\n  def test_leaves; exit!(0); end\nend\n",
    ),
    Kind(
        "busted",
        "busted",
        "busted",
        "spec/a_spec.lua",
        needs="busted",
        files={".busted": "return {}\n"},
        native="busted -o junit -Xoutput {report}",
        mixed="describe('A', function()\n  it('works', function() end)\n  it('breaks here', function() assert.are.equal(1, 2) end)\n  pending('later', function() end)\n  for _, v in ipairs({'a b', 'zö'}) do it('takes ' .. v, function() assert.are_not.equal('a b', v) end) end\nend)\n",
        counts=(2, 2, 0, 1),
        broken=("A breaks here", "spec/a_spec.lua", 3),
        uncollected="require('nosuch')\n",
        crashes="local ffi = require('posix')\n",
        hangs="describe('A', function()\n  it('hangs', function() while true do end end)\nend)\n",
        leaves="describe('A', function()\n  it('a', function() end)\n  it('leaves', function() os.exit(0) end)\nend)\n",
    ),
    Kind(
        "mix",
        "mix test",
        "mix",
        "test/a_test.exs",
        needs="mix",
        files={
            "mix.exs": 'defmodule A.MixProject do\n  use Mix.Project\n  def project, do: [app: :a, version: "0.1.0"]\nend\n',
            "lib/a.ex": "defmodule A do\nend\n",
            "test/test_helper.exs": "ExUnit.start()\n",
        },
        mixed='defmodule ATest do\n  use ExUnit.Case\n  test "works", do: :ok\n  test "breaks here" do\n    assert 1 == 2\n  end\n  @tag :skip\n  test "later", do: :ok\n  for v <- ["a b", "zö"] do\n    test "takes #{v}", do: assert(unquote(v) != "a b")\n  end\nend\n',
        counts=(2, 2, 0, 1),
        broken=("breaks here", "test/a_test.exs", 5),
        uncollected="defmodule ATest do\n  use Nosuch\nend\n",
        crashes='defmodule ATest do\n  use ExUnit.Case\n  test "a", do: :ok\n  test "dies" do\n    System.cmd("kill", ["-9", System.pid()])\n    Process.sleep(:infinity)\n  end\nend\n',
        hangs='defmodule ATest do\n  use ExUnit.Case\n  @tag timeout: :infinity\n  test "hangs", do: Process.sleep(:infinity)\nend\n',
        leaves='defmodule ATest do\n  use ExUnit.Case\n  test "a", do: :ok\n  test "leaves", do: System.halt(0)\nend\n',
    ),
)
