"""Small projects of seventeen kinds, with all test outcomes."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Kind:
    """One kind of project, and one text of its test file for each way in which tests end."""

    name: str
    ci: str
    """The command of its CI file."""
    test: str
    """The file that the texts are written to."""
    mixed: str
    """A broken test, a skipped one, and tests with blanks and unicode in their names."""
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
    """A command that has the runner write its own report to `{report}`."""
    prints: str = ""
    """The counts of the mixed tests as a runner without a report prints them."""
    form: str = "junit"
    """Of the report."""
    told: str = "uncollected"
    """Ways to end for which the result names the test or its file."""
    seconds: float = 12
    needs: str = ""
    """A program that `make test-runners` installs; empty: it is always installed."""


def texts(kind: Kind) -> dict[str, str]:
    """Return the files of a kind and its CI."""
    ci = f"jobs:\n  tests:\n    steps:\n      - run: {kind.ci}\n"
    return {**kind.files, ".github/workflows/ci.yml": ci}


PYTEST: Final = Kind(
    "pytest",
    "python -m pytest",
    test="tests/test_a.py",
    files={"pyproject.toml": "[tool.pytest.ini_options]\n"},
    mixed="""import pytest
def test_broken(): assert 1 == 2
@pytest.mark.skip
def test_later(): pass
@pytest.mark.parametrize("value", ["a b", "z\\u00f6", "x"])
def test_each(value): assert value != "a b", value
""",
    counts=(2, 2, 0, 1),
    broken=("test_broken", "tests/test_a.py", 2),
    native="pytest -q --junitxml={report}",
    uncollected="import nosuch\ndef test_a(): pass\n",
    crashes="import os\ndef test_a(): pass\ndef test_dies(): os.kill(os.getpid(), 11)\n",
    hangs="import time\ndef test_a(): assert 0\ndef test_hangs(): time.sleep(600)\n",
    leaves="import os\ndef test_a(): pass\ndef test_leaves(): os._exit(0)\n",
    told="uncollected crashes hangs leaves",
    seconds=6,
)
UNIT: Final = "import os, time, unittest\nclass A(unittest.TestCase):\n    def test_a(self): pass\n"
UNITTEST: Final = Kind(
    "unittest",
    "python -m unittest discover -s tests",
    test="tests/test_a.py",
    files={"setup.py": "", "tests/__init__.py": ""},
    mixed="""import unittest
class A(unittest.TestCase):
    def test_broken(self): self.assertEqual(1, 2)
    @unittest.skip("not now")
    def test_later(self): pass
    def test_each(self):
        for value in ("a b", "z\\u00f6", "x"):
            with self.subTest(value=value): self.assertNotEqual(value, "a b")
    def test_fine(self): print("FAIL: fake (a.A)")
""",
    counts=(1, 2, 0, 1),
    broken=("test_broken", "tests/test_a.py", 3),
    native="python -m unittest discover -s tests",
    prints="FAILED (failures=2, skipped=1)",
    uncollected="import nosuch\n",
    crashes=f"{UNIT}    def test_dies(self): os.kill(os.getpid(), 11)\n",
    hangs=f"{UNIT}    def test_hangs(self): time.sleep(600)\n",
    leaves=f"{UNIT}    def test_leaves(self): os._exit(0)\n",
    told="uncollected crashes hangs leaves",
    seconds=6,
)
MANAGE: Final = """import os
import sys
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "site_of.settings")
from django.core.management import execute_from_command_line
execute_from_command_line(sys.argv)
"""
DJANGO: Final = {
    "manage.py": MANAGE,
    "site_of/__init__.py": "",
    "site_of/settings.py": "SECRET_KEY = 'x'\nINSTALLED_APPS = []\nDATABASES = {}\n",
    "tests/__init__.py": "",
}
NOX: Final = "import nox\n@nox.session(python=False)\ndef tests(session):\n    session.run('pytest')\n"
TOX: Final = (
    "[tox]\nno_package = true\n[testenv:py]\nsystem_site_packages = true\ncommands = python -m pytest -q\n"
)


def javascript(name: str, ci: str, script: str, head: str, broken: tuple[str, str, int], native: str) -> Kind:
    """Return a kind of JavaScript: of its tests, one fails by its value."""
    needs = {} if name == "node" else {"devDependencies": {name: "*"}}
    throws = "if (value === 'a b') throw new Error(value);"
    return Kind(
        name,
        ci,
        test=broken[1],
        files={"package.json": json.dumps({"name": "small", "scripts": {"test": script}, **needs})},
        mixed=f"{head}\ntest('works', () => {{}});\n"
        "test('breaks here', () => { assert.strictEqual(1, 2); });\ntest.skip('later', () => {});\n"
        f"for (const value of ['a b', 'z\u00f6']) test(`takes ${{value}}`, () => {{ {throws} }});\n",
        counts=(2, 2, 0, 1),
        broken=broken,
        native=native,
        uncollected=f"{head}\nrequire('./nosuch');\ntest('a', () => {{}});\n",
        crashes=f"{head}\ntest('a', () => {{}});\n"
        "test('dies', () => { process.kill(process.pid, 'SIGSEGV'); return new Promise(() => {}); });\n",
        hangs=f"{head}\ntest('a', () => {{}});\ntest('hangs', () => {{ while (true); }});\n",
        leaves=f"{head}\ntest('a', () => {{}});\n"
        "test('leaves', async () => { await new Promise((r) => setTimeout(r, 20)); process.exit(0); });\n",
        needs=name,
    )


ASSERT: Final = "const assert = require('node:assert');"
GO: Final = """package small

import ("testing"; "os"; "syscall"; "time")

var _, _, _ = os.Exit, syscall.Kill, time.Hour
"""
LISTS: Final = "cmake_minimum_required(VERSION 3.19)\nproject(small NONE)\nenable_testing()\n"
MINI: Final = "require 'minitest/autorun'\nclass TestA < Minitest::Test\n  def test_a; end\n"
MIX: Final = 'defmodule ATest do\n  use ExUnit.Case\n  test "a", do: :ok\n'

KINDS: Final = (
    PYTEST,
    UNITTEST,
    replace(
        PYTEST,
        name="make",
        ci="make test",
        files={"Makefile": "test:\n\tpython3 -m pytest\n"},
        native="PYTEST_ADDOPTS=--junitxml={report} make test",
    ),
    replace(
        UNITTEST,
        name="django",
        ci="python manage.py test",
        files=DJANGO,
        native="python manage.py test",
        told="uncollected crashes",
        needs="django-admin",
    ),
    replace(
        PYTEST,
        name="tox",
        ci="tox -e py",
        files={"tox.ini": TOX},
        native="TOX_OVERRIDE=testenv.pass_env=PYTEST_ADDOPTS PYTEST_ADDOPTS=--junitxml={report} tox -e py",
        seconds=20,
        needs="tox",
    ),
    replace(
        PYTEST,
        name="nox",
        ci="nox -s tests",
        files={"noxfile.py": NOX},
        native="PYTEST_ADDOPTS=--junitxml={report} nox -s tests",
        seconds=8,
        needs="nox",
    ),
    replace(
        javascript(
            "node",
            "node --test",
            "node --test",
            f"const {{ test }} = require('node:test'); {ASSERT}",
            ("breaks here", "a.test.js", 3),
            "node --test --test-reporter=junit --test-reporter-destination={report}",
        ),
        told="uncollected crashes leaves",
        seconds=6,
    ),
    replace(
        javascript(
            "jest",
            "npx jest",
            "jest",
            ASSERT,
            ("breaks here", "a.test.js", 3),
            "jest --ci --json --outputFile={report}",
        ),
        form="json",
    ),
    replace(
        javascript(
            "vitest",
            "npx vitest",
            "vitest",
            "import { test } from 'vitest'; import assert from 'node:assert';",
            ("breaks here", "a.test.js", 3),
            "vitest run --reporter=junit --outputFile={report}",
        ),
        told="uncollected leaves",
    ),
    replace(
        javascript(
            "mocha",
            "npm test",
            "mocha",
            f"{ASSERT} const test = it;",
            ("breaks here", "test/a.js", 3),
            "mocha --reporter json --reporter-option output={report}",
        ),
        form="json",
    ),
    Kind(
        "cargo",
        "cargo test",
        test="tests/outer.rs",
        files={
            "Cargo.toml": '[package]\nname = "small"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "pub fn add(a: i32, b: i32) -> i32 { a + b }\n",
        },
        mixed="#[test]\nfn works() {}\n#[test]\nfn breaks_here() { assert_eq!(small::add(1, 1), 3); }\n"
        "#[test]\n#[ignore]\nfn later() {}\n#[test]\nfn gr\u00f6\u00dfe() { panic!(); }\n",
        counts=(1, 2, 0, 1),
        broken=("breaks_here", "tests/outer.rs", 4),
        native="cargo test --no-fail-fast",
        prints="test result: FAILED. 1 passed; 2 failed; 1 ignored",
        uncollected="use nosuch::x;\n#[test]\nfn a() {}\n",
        crashes="#[test]\nfn a() {}\n#[test]\nfn dies() { std::process::abort(); }\n",
        hangs="#[test]\nfn hangs() { loop { std::thread::park(); } }\n",
        leaves="#[test]\nfn leaves() { std::process::exit(0); }\n",
        told="uncollected crashes",
        needs="cargo",
    ),
    Kind(
        "go",
        "go test ./...",
        test="small_test.go",
        files={"go.mod": "module small\n\ngo 1.19\n", "small.go": "package small\n"},
        mixed=f"{GO}func TestWorks(t *testing.T) {{}}\n"
        'func TestBroken(t *testing.T) { t.Errorf("1 is not %d", 2) }\n'
        'func TestLater(t *testing.T) { t.Skip("not now") }\nfunc TestEach(t *testing.T) {\n'
        '\tfor _, v := range []string{"a b", "z\u00f6"} {\n'
        '\t\tt.Run(v, func(t *testing.T) { if v == "a b" { t.Error(v) } })\n\t}\n}\n',
        counts=(2, 3, 0, 1),
        broken=("TestBroken", "small_test.go", 7),
        native="go test -json ./... > {report}",
        form="json",
        uncollected='package small\n\nimport "nosuch"\n\nfunc TestA() { nosuch.X() }\n',
        crashes=f"{GO}func TestDies(t *testing.T) {{ syscall.Kill(os.Getpid(), 9); select {{}} }}\n",
        hangs=f"{GO}func TestHangs(t *testing.T) {{ time.Sleep(time.Hour) }}\n",
        leaves=f"{GO}func TestLeaves(t *testing.T) {{ os.Exit(0) }}\n",
        told="uncollected crashes hangs leaves",
        needs="go",
    ),
    Kind(
        "ctest",
        "ctest --test-dir build",
        test="CMakeLists.txt",
        mixed=f'{LISTS}add_test(NAME works COMMAND true)\nadd_test(NAME later COMMAND sh -c "exit 77")\n'
        'add_test(NAME broken COMMAND sh -c "echo main.c:3:5: error: none; exit 1")\n'
        "set_tests_properties(later PROPERTIES SKIP_RETURN_CODE 77)\n"
        'add_test(NAME "takes a b" COMMAND false)\nadd_test(NAME gr\u00f6\u00dfe COMMAND true)\n',
        counts=(2, 2, 0, 1),
        broken=("broken", "main.c", 3),
        native="ctest --test-dir build --output-junit {report}",
        uncollected=f"{LISTS}add_test(NAME uncollected COMMAND ./nowhere)\n",
        crashes=f'{LISTS}add_test(NAME dies COMMAND sh -c "kill -SEGV $$")\n',
        hangs=f"{LISTS}add_test(NAME hangs COMMAND sleep 600)\n",
        leaves=f'{LISTS}add_test(NAME leaves COMMAND sh -c "kill -KILL $PPID")\n',
        told="uncollected crashes",
        seconds=6,
        needs="ctest",
    ),
    Kind(
        "rspec",
        "rspec",
        test="spec/a_spec.rb",
        files={".rspec": ""},
        mixed="RSpec.describe 'A' do\n  it('works') {}\n  it('breaks here') { expect(1).to eq(2) }\n"
        "  xit('later') { raise }\n"
        "  ['a b', 'z\u00f6'].each { |v| it(\"takes #{v}\") { expect(v).not_to eq('a b') } }\nend\n",
        counts=(2, 2, 0, 1),
        broken=("A breaks here", "spec/a_spec.rb", 3),
        native="rspec -f json -o {report}",
        form="json",
        uncollected="require 'nosuch'\nRSpec.describe('A') { it('a') {} }\n",
        crashes="RSpec.describe('A') { it('dies') { Process.kill(:KILL, $$); sleep } }\n",
        hangs="RSpec.describe('A') { it('hangs') { loop {} } }\n",
        leaves="RSpec.describe('A') { it('leaves') { exit!(0) } }\n",
        seconds=6,
        needs="rspec",
    ),
    Kind(
        "minitest",
        "rake test",
        test="test/test_a.rb",
        files={
            "Rakefile": "require 'rake/testtask'\nRake::TestTask.new { |t| t.pattern = 'test/test_*.rb' }\n"
        },
        mixed=f"{MINI}  def test_broken; assert_equal 1, 2; end\n  def test_later; skip; end\n"
        "  ['a b', 'z\u00f6'].each { |v| define_method(\"test_#{v}\") { refute_equal 'a b', v } }\nend\n",
        counts=(2, 2, 0, 1),
        broken=("TestA#test_broken", "test/test_a.rb", 4),
        native="rake test",
        prints="assertions, 2 failures, 0 errors, 1 skips",
        uncollected="require 'minitest/autorun'\nrequire 'nosuch'\n",
        crashes=f"{MINI}  def test_dies; Process.kill(:KILL, $$); sleep; end\nend\n",
        hangs=f"{MINI}  def test_hangs; loop {{}}; end\nend\n",
        leaves=f"{MINI}  def test_leaves; exit!(0); end\nend\n",
        seconds=6,
        needs="rake",
    ),
    Kind(
        "busted",
        "busted",
        test="spec/a_spec.lua",
        files={".busted": "return {}\n"},
        mixed="describe('A', function()\n  it('works', function() end)\n"
        "  it('breaks here', function() assert.are.equal(1, 2) end)\n  pending('later', function() end)\n"
        "  for _, v in ipairs({'a b', 'z\u00f6'}) do\n"
        "    it('takes ' .. v, function() assert.are_not.equal('a b', v) end)\n  end\nend)\n",
        counts=(2, 2, 0, 1),
        broken=("A breaks here", "spec/a_spec.lua", 3),
        native="busted -o junit -Xoutput {report}",
        uncollected="require('nosuch')\n",
        crashes="it('dies', function() os.execute('kill -SEGV $PPID') end)\n",
        hangs="it('hangs', function() while true do end end)\n",
        leaves="it('leaves', function() os.exit(0) end)\n",
        seconds=6,
        needs="busted",
    ),
    Kind(
        "mix",
        "mix test",
        test="test/a_test.exs",
        files={
            "mix.exs": "defmodule A.MixProject do\n  use Mix.Project\n"
            '  def project, do: [app: :a, version: "0.1.0"]\nend\n',
            "lib/a.ex": "defmodule A do\nend\n",
            "test/test_helper.exs": "ExUnit.start()\n",
        },
        mixed=f'{MIX}  test "breaks here" do\n    assert 1 == 2\n  end\n  @tag :skip\n'
        '  test "later", do: :ok\n  for v <- ["a b", "z\u00f6"] do\n'
        '    test "takes #{v}", do: assert(unquote(v) != "a b")\n  end\nend\n',
        counts=(2, 2, 0, 1),
        broken=("test breaks here (ATest)", "test/a_test.exs", 5),
        native="mix test",
        prints="5 tests, 2 failures, 1 skipped",
        uncollected="defmodule ATest do\n  use Nosuch\nend\n",
        crashes=f'{MIX}  test "dies", do: System.cmd("kill", ["-9", System.pid()])\nend\n',
        hangs=f'{MIX}  test "hangs", do: Process.sleep(:infinity)\nend\n',
        leaves=f'{MIX}  test "leaves", do: System.halt(0)\nend\n',
        needs="mix",
    ),
)
