from __future__ import annotations

import pytest

from tideate_core.workspace.languages import Fit, fit_of_tag, is_test, language_of


@pytest.mark.parametrize(
    ("path", "filetype", "language"),
    [
        ("a/b.py", "", "python"),
        ("types.pyi", "", "python"),
        ("x.ts", "", "typescript"),
        ("x.tsx", "", "tsx"),
        ("", "typescriptreact", "tsx"),
        ("", "javascriptreact", "javascript"),
        ("", "sh", "bash"),
        ("notes.txt", "lua", "lua"),
        ("", "yaml.ansible", "yaml"),
        ("Makefile", "", "make"),
        ("CMakeLists.txt", "", "cmake"),
        ("tsconfig.json", "", "jsonc"),
        ("UPPER.PY", "", "python"),
        ("plot.R", "", "r"),
        ("x.unheard", "", ""),
        ("", "", ""),
        ("x", "gleam", "gleam"),
    ],
)
def test_the_language_of_a_file(path: str, filetype: str, language: str) -> None:
    assert language_of(path, filetype) == language


@pytest.mark.parametrize(
    ("info", "language", "fit"),
    [
        ("python", "python", Fit.EXACT),
        ("PY", "python", Fit.EXACT),
        ("gleam", "gleam", Fit.EXACT),
        ("jsx", "tsx", Fit.NEAR),
        ("", "python", Fit.NEUTRAL),
        ("text", "python", Fit.NEUTRAL),
        ("whatever", "python", Fit.NEUTRAL),
        ("bash", "", Fit.NEUTRAL),
        ("bash", "python", Fit.FOREIGN),
        ("python", "markdown", Fit.FOREIGN),
    ],
)
def test_how_a_tag_fits(info: str, language: str, fit: Fit) -> None:
    assert fit_of_tag(info, language)[1] is fit


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("tests/a.py", True),
        ("src/test/java/A.java", True),
        ("a/test_b.py", True),
        ("b_test.go", True),
        ("b.spec.ts", True),
        ("src/__tests__/b.js", True),
        ("src/latest/contest.py", False),
        ("src/inspect.py", False),
        ("src/attested.py", False),
    ],
)
def test_tests_are_known_by_their_names(path: str, expected: bool) -> None:
    assert is_test(path) is expected
