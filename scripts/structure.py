"""Structure figures of this checkout: sizes, imports past a package's face, cycles, lone importers.

`python -m scripts.structure [--json]`. A *room* is a module or package directly below `tideate_core`; its
*face* is the package itself, whose `__init__` says what others may use.
"""

from __future__ import annotations

import ast
import json
import sys
from collections import Counter, defaultdict
from dataclasses import asdict, dataclass, field
from itertools import chain
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

ROOT: Final = Path(__file__).resolve().parent.parent
PACKAGE: Final = "tideate_core"
FACES: Final = ("machines.diagrams", "machines.language", "mcp.client", "mcp.servers", "mcp.transport")
"""Packages inside of a room that others use beside the room itself."""
SHELF: Final = f"{PACKAGE}.util"
"""Helpers: each module is imported by its own path."""
LONG, SHORT, LONG_FUNCTION = 400, 60, 40


@dataclass(frozen=True, slots=True)
class Import:
    """One name that a module imports, or a module that it imports whole."""

    module: str
    name: str
    line: int
    at_start: bool
    """True outside of functions."""
    typing_only: bool
    """True below `if TYPE_CHECKING`."""


@dataclass(frozen=True, slots=True)
class Module:
    """Counts of one module."""

    name: str
    path: str
    lines: int
    imports: tuple[Import, ...]
    functions: tuple[tuple[str, int], ...]
    """Names with their lengths in lines."""

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    @property
    def room(self) -> str:
        return _room(self.name)


Modules = dict[str, Module]
Edges = dict[str, set[str]]


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures; lengths are in lines, the median and the longest are without the packages' `__init__`."""

    modules: int
    packages: int
    lines: int
    median_module: int
    longest_module: tuple[str, int]
    over_400: list[str]
    under_60: list[str]
    functions: int
    median_function: int
    functions_over_40: int
    bypasses: list[str]
    bypasses_by_pair: dict[str, int]
    cycles: list[list[str]]
    cycles_at_start: list[list[str]]
    one_importer: list[str]
    test_files: int
    tests_by_name: int
    lines_by_room: dict[str, int]
    modules_by_room: dict[str, int] = field(default_factory=dict)


# reading


def read_modules(root: Path) -> Modules:
    """Parse every module below `root/tideate_core`."""
    parsed = (
        parse_module(path.relative_to(root), path.read_text("utf-8")) for path in _python(root / PACKAGE)
    )
    return {module.name: module for module in parsed}


def parse_module(path: Path, text: str) -> Module:
    """:param path: relative to the checkout."""
    parts = path.with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    tree = ast.parse(text)
    functions = tuple(
        (node.name, (node.end_lineno or node.lineno) - node.lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return Module(name, path.as_posix(), len(text.splitlines()), tuple(_imports(tree)), functions)


def _python(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))


def _imports(node: ast.AST, *, at_start: bool = True, typing_only: bool = False) -> Iterator[Import]:
    """Yield imports of the project, including lazy imports by a string."""
    for child in ast.iter_child_nodes(node):
        here = typing_only or (isinstance(node, ast.If) and _is_typing(node) and child in node.body)
        start = at_start and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        match child:
            case ast.ImportFrom(module=str(module), names=names) if _is_ours(module):
                yield from (Import(module, each.name, child.lineno, start, here) for each in names)
            case ast.Import(names=names):
                ours = (each.name for each in names if _is_ours(each.name))
                yield from (Import(name, "", child.lineno, start, here) for name in ours)
            case ast.Constant(value=str(text)) if _is_ours(text) and " " not in text:
                yield Import(text.partition(":")[0], "", child.lineno, at_start=False, typing_only=here)
        yield from _imports(child, at_start=start, typing_only=here)


def _is_typing(node: ast.If) -> bool:
    return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")


def _room(module: str) -> str:
    return ".".join(module.split(".")[:2])


# imports


def target_of(one: Import, modules: Mapping[str, Module]) -> str | None:
    """Return the module that an import names, be it a face; None: a string was no module."""
    below = f"{one.module}.{one.name}"
    if one.name and below in modules:
        return below
    return one.module if one.module in modules else None


def home_of(one: Import, modules: Mapping[str, Module]) -> str | None:
    """Return the module that has the imported name, where a package's face only hands it on."""
    target = target_of(one, modules)
    seen: set[str] = set()
    while target and target not in seen and modules[target].is_package:
        seen.add(target)
        handed_on = (inner for inner in modules[target].imports if inner.name and inner.name == one.name)
        target = next((target_of(inner, modules) for inner in handed_on), target)
    return target


def bypasses(modules: Modules) -> list[tuple[Module, Import, str]]:
    """Return the imports of another room's module that is not a face, with that module."""
    faces = {f"{PACKAGE}.{name}" for name in FACES}
    found = []
    for module in modules.values():
        for one in module.imports:
            target = target_of(one, modules)
            past = (
                target
                and target not in faces
                and target.count(".") > 1
                and _room(target) not in (module.room, SHELF)
            )
            if target and past:
                found.append((module, one, target))
    return found


def import_edges(modules: Modules, *, at_start_only: bool = False) -> Edges:
    """Return the modules that each one imports when it runs; a name from a face counts for its home, too.

    :param at_start_only: without imports in functions, names that a face loads later, and modules in strings.
    """
    edges: Edges = {name: set() for name in modules}
    for module in modules.values():
        for one in module.imports:
            if one.typing_only or (at_start_only and not one.at_start):
                continue
            reached = {target_of(one, modules)} | (set() if at_start_only else {home_of(one, modules)})
            edges[module.name] |= {each for each in reached if each and each != module.name}
    return edges


def components(edges: Edges) -> list[list[str]]:
    """Return the import cycles: strongly connected components of more than one module (Tarjan)."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    open_: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = low[name] = len(order)
        open_.append(name)
        for other in edges[name]:
            if other not in order:
                visit(other)
            if other in open_:
                low[name] = min(low[name], low[other])
        if low[name] == order[name]:
            component = [open_.pop()]
            while component[-1] != name:
                component.append(open_.pop())
            if len(component) > 1:
                found.append(sorted(component))

    for name in edges:
        if name not in order:
            visit(name)
    return sorted(found, key=lambda one: (-len(one), one))


def importers(modules: Modules) -> Edges:
    """Return the users of each module, for types as well, without packages that only hand its names on."""
    found: Edges = defaultdict(set)
    for module in modules.values():
        for one in module.imports:
            home = home_of(one, modules)
            if (
                home
                and home != module.name
                and not (module.is_package and home.startswith(f"{module.name}."))
            ):
                found[home].add(module.name)
    return found


# figures


def figures(modules: Modules, tests: Iterable[str]) -> Figures:
    """:param tests: paths of the test files, relative to the checkout."""
    plain = [module for module in modules.values() if not module.is_package]
    lengths = sorted((module.lines, module.name) for module in plain)
    functions = [length for module in modules.values() for _, length in module.functions]
    past = bypasses(modules)
    users = importers(modules)
    files = set(tests)
    rooms: Counter[str] = Counter()
    for module in modules.values():
        rooms[module.room] += module.lines
    return Figures(
        modules=len(modules),
        packages=len(modules) - len(plain),
        lines=sum(rooms.values()),
        median_module=int(median(lines for lines, _ in lengths)),
        longest_module=(lengths[-1][1], lengths[-1][0]),
        over_400=[name for lines, name in lengths if lines > LONG],
        under_60=[name for lines, name in lengths if lines < SHORT],
        functions=len(functions),
        median_function=int(median(functions)),
        functions_over_40=sum(length > LONG_FUNCTION for length in functions),
        bypasses=sorted(f"{module.path}:{one.line}: {target}" for module, one, target in past),
        bypasses_by_pair=dict(
            Counter(f"{module.room} → {_room(target)}" for module, _, target in past).most_common()
        ),
        cycles=components(import_edges(modules)),
        cycles_at_start=components(import_edges(modules, at_start_only=True)),
        one_importer=sorted(module.name for module in plain if len(users[module.name]) == 1),
        test_files=len(files),
        tests_by_name=sum(mirror_of(module.path) in files for module in plain),
        lines_by_room=dict(rooms.most_common()),
        modules_by_room=dict(Counter(module.room for module in modules.values()).most_common()),
    )


def mirror_of(path: str) -> str:
    """Return where the test of a module stands that mirrors it by name."""
    module = Path(path).relative_to(PACKAGE)
    return Path("tests", module.with_name(f"test_{module.name}")).as_posix()


def table(found: Figures) -> list[tuple[str, str]]:
    """Return the figures as rows of a name and a value."""
    in_cycles = len(set(chain.from_iterable(found.cycles)))
    name, lines = found.longest_module
    return [
        ("modules (of them packages)", f"{found.modules} ({found.packages})"),
        ("lines", f"{found.lines:,}"),
        ("median module", str(found.median_module)),
        ("longest module", f"{lines} ({name})"),
        (f"modules over {LONG} lines", str(len(found.over_400))),
        (f"modules under {SHORT} lines", str(len(found.under_60))),
        ("functions", f"{found.functions:,}"),
        ("median function", str(found.median_function)),
        (f"functions over {LONG_FUNCTION} lines", str(found.functions_over_40)),
        ("imports that bypass a face", str(len(found.bypasses))),
        ("import cycles (modules in them)", f"{len(found.cycles)} ({in_cycles})"),
        ("import cycles at start", str(len(found.cycles_at_start))),
        ("modules with one importer", str(len(found.one_importer))),
        ("modules with a test by name", f"{found.tests_by_name} of {found.modules - found.packages}"),
        ("test files", str(found.test_files)),
    ]


def _print(found: Figures, console: Console) -> None:
    totals = Table("figure", "value", box=None)
    for row in table(found):
        totals.add_row(*row)
    rooms = Table("room", "modules", "lines", box=None)
    for column in rooms.columns[1:]:
        column.justify = "right"
    for room, lines in found.lines_by_room.items():
        rooms.add_row(room.removeprefix(f"{PACKAGE}."), str(found.modules_by_room[room]), f"{lines:,}")
    past = Table("imports that bypass a face", "", box=None)
    for pair, count in found.bypasses_by_pair.items():
        past.add_row(pair.replace(f"{PACKAGE}.", ""), str(count))
    for each in (totals, rooms, past):
        console.print(each, highlight=False)
        console.print()
    for title, cycles in (("import cycle", found.cycles), ("at start", found.cycles_at_start)):
        for cycle in cycles:
            console.print(
                f"{title} of {len(cycle)}: {', '.join(cycle)}".replace(f"{PACKAGE}.", ""), highlight=False
            )


def main(words: list[str]) -> int:
    """Print the figures of this checkout."""
    tests = [path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").rglob("test_*.py")]
    found = figures(read_modules(ROOT), tests)
    if words == ["--json"]:
        print(json.dumps(asdict(found), indent=1, ensure_ascii=False))
    elif words:
        sys.exit("usage: python -m scripts.structure [--json]")
    else:
        _print(found, Console())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
