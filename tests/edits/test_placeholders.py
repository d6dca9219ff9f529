"""Placeholders for omitted lines are found, and nothing else."""

from __future__ import annotations

import pytest

from tideate_core.edits.formats.code import extract_code
from tideate_core.edits.placeholders import find_placeholder
from tideate_core.errors import UnusableAnswer


def of_languages(**lines: list[str]) -> list[tuple[str, str]]:
    return [(language, line) for language, each in lines.items() for line in each]


PLACEHOLDERS = of_languages(
    python=[
        "# ...",
        "# … ",
        "    # rest of the code",
        "# The rest of the function remains the same",
        "# ... rest of the implementation ...",
        "# [rest of the class]",
        "# (existing code)",
        "# existing code here",
        "# Other methods remain unchanged",
        "# remaining methods are unchanged...",
        "# --- unchanged ---",
        "# ... (same as before)",
        "# Same as before",
        "# omitted for brevity",
        "# code omitted for brevity",
        "# your code here",
        "# Add your logic here",
        "# implementation goes here",
        "# Keep the existing imports as is",
        "import os  # ... other imports",
        "    pass  # rest of the implementation",
        "... rest of the code ...",
        "...rest of the code",
        "[rest of the code]",
        "Rest of the code remains the same",
    ],
    javascript=[
        "// ...",
        "  // ... existing code ...",
        "// ...other methods...",
        "/* ... rest of the component ... */",
        "/* ... */",
        " * ... existing code ...",
        "function a() { /* ... */ }",
        "function a() { ... }",
        "function a() { // rest of the function",
        "...",
        "{/* ... existing markup ... */}",
    ],
    tsx=["{/* rest of the component */}"],
    go=["// ... rest of the function unchanged"],
    rust=["// ... other fields"],
    c=["/* rest of the file unchanged */"],
    sql=["-- ... rest of the statements"],
    lua=[
        "-- rest of the code here",
        "--[[ rest of the code ]]",
        "--[[ ... ]]",
    ],
    html=[
        "<!-- ... -->",
        "<!-- rest of the page -->",
        "<!-- Existing content here -->",
    ],
    css=["/* ... other styles ... */"],
    bash=["# ... rest of script ..."],
    yaml=["# ... remaining steps unchanged"],
    tex=["[... rest of the document ...]"],
    lisp=[";; ... rest of the code"],
    ocaml=["(* ... rest of the code ... *)"],
    haskell=["{- rest of the module -}"],
    matlab=["% ... existing code ..."],
    vim=['" ... rest of the file ...'],
    dosbatch=["REM ... rest of the script ..."],
    jinja=["{# ... existing code ... #}"],
    markdown=[
        "<!-- rest of the document unchanged -->",
        "... rest of the document ...",
        "[... rest of the file ...]",
        "...",
    ],
)


@pytest.mark.parametrize(("language", "line"), PLACEHOLDERS)
def test_a_line_that_stands_for_others_is_found(language: str, line: str) -> None:
    assert find_placeholder(["a", line], ["b"], language) == 1


@pytest.mark.parametrize(("language", "line"), PLACEHOLDERS)
def test_it_is_none_where_the_original_has_it(language: str, line: str) -> None:
    assert find_placeholder(["a", line], ["b", f"  {line.strip()}"], language) is None


INNOCENT = of_languages(
    python=[
        "# Read the rest of the file",
        "# skip the rest",
        "# the remaining items",
        "# Other imports",
        "# Loading...",
        "# Loading other files...",
        "# unchanged lines are skipped",
        "# existing users keep their name",
        "# ...and then it is sorted",
        "return n  # unchanged",
        "x = y  # same as before",
        'print("Loading...")',
        'raise ValueError("rest of the code")',
        '"existing code",',
        "rest = remaining[1:]",
        "x = a[..., 0]",
        "def f(xs: tuple[int, ...]) -> Callable[..., int]:",
        "original_code = existing_code",
    ],
    javascript=[
        "...rest,",
        "...rest",
        "...existingUsers,",
        "{ ...rest }",
        "{ ...previous, code }",
        "[...existing, item]",
        "const { a, ...rest } = props;",
        "/* rest parameters */",
    ],
    go=[
        "args ...string",
        "f(args...)",
    ],
    lua=["local a, b = ..."],
    c=[
        "int printf(const char *format, ...);",
        "#define LOG(...) log(__VA_ARGS__)",
    ],
    rust=["let Point { x, .. } = p;"],
    css=["#rest-of-the-page {"],
    markdown=[
        "# Rest of the code",
        "* Other methods",
        "And so on...",
    ],
    bash=["echo 'Working ...'"],
    sql=["-- the remaining rows"],
    html=["<p>Loading ...</p>"],
)


@pytest.mark.parametrize(("language", "line"), INNOCENT)
def test_a_line_that_says_something_of_its_own_is_not(language: str, line: str) -> None:
    assert find_placeholder(["a", line], ["b"], language) is None


MEANT = {
    "a new stub": ["def f(x: int) -> int:", "    ..."],
    "a new stub in one line": ["def f(x: int) -> int: ..."],
    "a protocol": [
        "class Adapter(Protocol):",
        "    def ask(self) -> str:",
        '        """Answer."""',
        "        ...",
    ],
    "an abstract method": ["    @abstractmethod", "    def known(self) -> int:", "        ..."],
    "an overload": [
        "@overload",
        "def known(x: int) -> int: ...",
        "@overload",
        "def known(x: str) -> str: ...",
    ],
    "an empty class": ["class Marker:", "    ..."],
    "a signature over several lines": ["def f(", "    x: int,", ") -> int:", "    ...", "", "x = 1"],
    "an argument": ["x = f(", "    1,", "    ...", ")"],
    "a swallowed error": ["try:", "    f()", "except KeyError:", "    ..."],
    "a doctest": ['"""', ">>> for x in y:", "...     print(x)", "...", '"""'],
}
KNOWN = [
    "class Known:",
    "    def known(self):",
    "        x = 1",
    "        return x",
    "",
    "if ready:",
    "    go()",
]


@pytest.mark.parametrize("code", MEANT.values(), ids=MEANT)
def test_pythons_ellipsis_may_be_meant(code: list[str]) -> None:
    assert find_placeholder(code, KNOWN, "python") is None


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(["def known(self):", "    ..."], id="a body left out"),
        pytest.param(["def known(self): ..."], id="in one line"),
        pytest.param(["async def known(self, more):", '    """Doc."""', "    ..."], id="below a docstring"),
        pytest.param(["def known(", "    self,", "):", "    ..."], id="below a long signature"),
        pytest.param(["class Known:", "    ..."], id="a class left out"),
        pytest.param(["if ready:", "    ..."], id="a branch left out"),
        pytest.param(["def new():", "    x = 1", "    ...", "    return x"], id="among statements"),
        pytest.param(["def new():", "    x = 1", "    ..."], id="after statements"),
        pytest.param(["import os", "...", "x = 1"], id="at the top"),
    ],
)
def test_pythons_ellipsis_may_not_replace_a_body(code: list[str]) -> None:
    assert find_placeholder(code, KNOWN, "python") is not None


def test_the_end_of_a_yaml_document_is_none() -> None:
    assert find_placeholder(["a: 1", "..."], ["a: 2"], "yaml") is None
    assert find_placeholder(["a: 1", "...", "---", "b: 1"], ["a: 2"], "yaml") is None
    assert find_placeholder(["a: 1", "...", "b: 1"], ["a: 2"], "yaml") == 1


def test_variadic_arguments_on_a_line_of_their_own_are_none() -> None:
    assert find_placeholder(["int f(", "  char *a,", "  ...", ");"], [], "c") is None


def test_dots_in_an_example_inside_markdown_are_none() -> None:
    assert find_placeholder(["```", "$ make", "...", "done", "```"], ["# Title"], "markdown") is None


def test_the_answer_is_refused_with_the_line() -> None:
    with pytest.raises(UnusableAnswer, match=r"line 2 of your code, '# \.\.\.'"):
        extract_code("```python\nx = 1\n# ...\n```", language="python", old=["y = 1"])


def test_a_line_from_elsewhere_in_the_text_is_known() -> None:
    answer = "```python\nx = 1\n# ...\n```"
    assert extract_code(answer, language="python", old=["y = 1"], context=["# ..."]) == ["x = 1", "# ..."]


@pytest.mark.timeout(60)
@pytest.mark.parametrize("filler", [" ", "-- a ", "// .", "... ", "rest of the ", "/*", "{ "])
def test_a_long_line_does_not_take_long(filler: str) -> None:
    # each would take hours if the work grew with the square of its length
    for lead in ("// ", "x ", "{", "[", "..."):
        assert find_placeholder([f"{lead}{filler * 100_000}x"], [], "python") is None


@pytest.mark.parametrize(
    "known",
    [
        pytest.param(["class hello:", "    x = 1"], id="a class of that name"),
        pytest.param(["class A:", "    def hello(self):", "        return 1"], id="another class's method"),
        pytest.param(["def hello():", "    return 1"], id="a function of the module"),
    ],
)
@pytest.mark.parametrize("head", ["class P(Protocol):", "class P(Base):"])
def test_a_method_is_no_other_things_body_left_out(known: list[str], head: str) -> None:
    for body in (["    def hello(self) -> int: ..."], ["    def hello(self) -> int:", "        ..."]):
        assert find_placeholder([*known, "", head, *body], known, "python") is None


def test_a_method_of_the_same_class_is_left_out_whatever_stands_elsewhere() -> None:
    known = ["class A:", "    async def hello(self):", "        return 1", "class hello:", "    x = 1"]
    assert find_placeholder(["class A:", "    def hello(self):", "        ..."], known, "python") == 2


def test_a_function_under_another_name_has_no_ellipsis_for_its_body() -> None:
    known = ["def f():", "    return 1"]
    assert find_placeholder(["def g():", "    ..."], known, "python", all_replaced=True) == 1
    assert find_placeholder(["def g():", "    ..."], known, "python") is None


def test_only_replaced_and_quoted_lines_may_be_repeated() -> None:
    assert find_placeholder(["x = 1", "# ..."], ["x = 2"], "python") == 1
    assert find_placeholder(["x = 1", "# ..."], ["x = 2"], "python", quoted=["# ..."]) is None


def test_an_ellipsis_between_arguments_stands_for_those_that_were_left_out() -> None:
    code = ["return Response(", "    ...", "    status=1,", ")"]
    assert find_placeholder(code, ["return Response(", "    headers=2,", "    status=0,", ")"], "python") == 1
    variadic = ["int log(const char *format,", "        ...", ");"]
    assert find_placeholder(variadic, [], "c") is None
