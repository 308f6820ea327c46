"""Search a release for what must not be in it: solution lines, hidden checks, references, answers."""

from __future__ import annotations

import ast
import difflib
import io
import json
import re
import tokenize
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torch import Tensor

from autograder.judging import references
from autograder.judging.held_out import ANSWERS, read_answers
from autograder.publishing import regions

NEAR = 0.9  # two normalised lines more alike than this are near-copies
INFORMATIVE = 12  # a shorter line ("return x") says nothing
WINDOW = 24  # so many characters of a hidden text are no accident
MIN_BYTES = 16  # a tensor of fewer bytes occurs by chance


@dataclass(frozen=True)
class Secrets:
    """What must not be found."""

    lines: Mapping[str, str]  # normalised solution line -> where it stands
    texts: Mapping[str, str]  # piece of text -> where it comes from
    tensors: Mapping[bytes, str]  # bytes of a hidden tensor -> where it comes from
    # Normalised line -> where it comes from, or ''. Most lines stand in several files, and in every course's release.
    seen: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    @staticmethod
    def read(
        root: Path,
        *,
        solutions: Sequence[Path],
        checks: Sequence[str] = (),
        references: Sequence[str] = (),
        answers: Sequence[str] = (),
        bodies: Sequence[str] = (),
    ) -> Secrets:
        """From solutions with marked regions, and from what these patterns name; `bodies` hold right variants."""
        lines: dict[str, str] = {}
        for path in _matching(root, bodies):
            lines |= _body_lines(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
        for path in solutions:
            if path.suffix in (".py", ".md"):
                lines |= _solution_lines(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
        texts: dict[str, str] = {}
        for path in _matching(root, checks):
            texts |= _literals(path.read_text(encoding="utf-8"), path.relative_to(root).as_posix())
        for path in _matching(root, answers):
            for piece in _answers(path):
                if len(piece) >= INFORMATIVE:
                    texts[piece] = path.relative_to(root).as_posix()
        tensors: dict[bytes, str] = {}
        for path in _matching(root, references):
            tensors |= _tensors(path, path.relative_to(root).as_posix())
            texts |= _corpora(path, path.relative_to(root).as_posix())
        return Secrets(lines, texts, tensors)


def _answers(path: Path) -> list[str]:
    """Pieces of text that give held-out answers away: lines, or pairs of question and place as people write them.

    Dev answers are no secret, and questions alone are not.
    """
    if path.name != ANSWERS:
        return path.read_text(encoding="utf-8").splitlines()
    pairs = [[question, str(place)] for question, place in read_answers(path).test]
    return [piece for pair in pairs for piece in ("\t".join(pair), json.dumps(pair, ensure_ascii=False)[1:-1])]


def _matching(root: Path, patterns: Iterable[str]) -> list[Path]:
    return sorted(path for pattern in patterns for path in root.glob(pattern) if path.is_file())


def _solution_lines(text: str, name: str) -> dict[str, str]:
    """The informative lines inside regions that do not also stand outside of all regions."""
    pieces = regions.parse(text, name)
    shared = [line for piece in pieces for line in ([piece] if isinstance(piece, str) else piece.stub or ())]
    given = {normalised(line) for line in shared if not line.lstrip().startswith("#")}  # a comment gives nothing
    found = {}
    for piece in pieces:
        if isinstance(piece, regions.Region):
            for offset, line in enumerate(piece.body, start=1):
                short = normalised(line)
                if len(short) >= INFORMATIVE and short not in given:
                    found[short] = f"{name}:{piece.line + offset}"
    return found


def _body_lines(text: str, name: str) -> dict[str, str]:
    """The informative lines of all right variants, without signatures and docstrings."""
    lines, found = text.splitlines(), {}
    for function in ast.parse(text).body:
        marks = [ast.unparse(mark) for mark in function.decorator_list] if isinstance(function, ast.FunctionDef) else []
        if isinstance(function, ast.FunctionDef) and any(mark.startswith("variant(") for mark in marks):
            body = function.body[1:] if ast.get_docstring(function) is not None else function.body
            for number in range(body[0].lineno, (function.end_lineno or 0) + 1) if body else ():
                short = normalised(lines[number - 1])
                if len(short) >= INFORMATIVE and not short.startswith(("import", "from")):
                    found[short] = f"{name}:{number}"
    return found


def _literals(source: str, name: str) -> dict[str, str]:
    """Long strings of a hidden check, in overlapping pieces. Its docstrings are public claims."""
    found: dict[str, str] = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.STRING and not token.string.startswith('"""'):
            text = token.string.strip("frbu").strip("\"'")
            found |= dict.fromkeys(_pieces(text), f"{name}:{token.start[0]}")
    return found


def _corpora(path: Path, name: str) -> dict[str, str]:
    """Long texts among the inputs of the cases, line by line, in overlapping pieces."""
    return {
        piece: f"{name}: {label} of case '{case.name}'"
        for case in references.read(path).cases
        for label, text in case.arguments.items()
        if isinstance(text, str)
        for line in text.splitlines()
        for piece in _pieces(line)
    }


def _pieces(text: str) -> list[str]:
    return [text[start : start + WINDOW] for start in range(0, len(text) - WINDOW + 1, WINDOW // 3)]


def _tensors(path: Path, name: str) -> dict[bytes, str]:
    """Inputs and outputs of the cases, unless too plain to be told apart (a mask, a counting row)."""
    found = {}
    for case in references.read(path).cases:
        for label, tensor in [*case.arguments.items(), ("expected output", case.expected)]:
            if not isinstance(tensor, Tensor) or not tensor.is_floating_point():
                continue
            content = tensor.contiguous().numpy().tobytes()
            if len(content) >= MIN_BYTES and len(set(tensor.flatten().tolist())) >= 4:
                found[content] = f"{name}: {label} of case '{case.name}'"
    return found


def normalised(line: str) -> str:
    """A line without what a disguise could change: space, comments, quotes, case."""
    line = re.sub(r"(?<!\\)#.*$", "", line) if not line.lstrip().startswith("#") else line.lstrip("# ")
    return re.sub(r"[\s'\"`]+", "", line).lower()


def leaks(tree: Mapping[str, bytes], secrets: Secrets) -> list[str]:
    """Every secret that is found in a tree, one line each."""
    found = []
    for name, content in tree.items():
        for tensor, origin in secrets.tensors.items():
            if tensor in content:
                found.append(f"{name} holds {origin}")
        if b"\0" in content:
            continue
        for place, text in _texts(name, content):
            found += _found_in(place, text, secrets)
    return found


def _texts(name: str, content: bytes) -> list[tuple[str, str]]:
    """Where text stands, and the text: of a notebook, each text in it, be it source, output or metadata."""
    text = content.decode("utf-8", errors="replace")
    if not name.endswith(".ipynb"):
        return [(name, text)]
    notebook = json.loads(text)
    found = []
    for number, cell in enumerate(notebook.pop("cells", []), start=1):
        found.append((f"{name}: cell {number}", "".join(cell.pop("source", ""))))
        found.append((f"{name}: cell {number}'s outputs and metadata", "\n".join(_strings(cell))))
    return [*found, (f"{name}: metadata", "\n".join(_strings(notebook)))]


def _strings(part: object) -> list[str]:
    """Every text in a piece of JSON; a list of texts is one text, as notebooks mean it."""
    match part:
        case str():
            return [part]
        case dict():
            return [text for key, value in part.items() for text in (key, *_strings(value))]
        case list() if all(isinstance(item, str) for item in part):
            return ["".join(part)]
        case list():
            return [text for item in part for text in _strings(item)]
    return []


def notebook_code(content: bytes) -> str:
    """The code cells of a notebook, one behind the other."""
    cells = json.loads(content)["cells"]
    return "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code") + "\n"


def _found_in(place: str, text: str, secrets: Secrets) -> list[str]:
    found = [f"{place} holds text of {origin}" for secret, origin in secrets.texts.items() if secret in text]
    for number, line in enumerate(text.splitlines(), start=1):
        if re.search(r"\b(BEGIN|END) (SOLUTION|PART|WITHOUT)\b", line) and not place.startswith("autograder/"):
            found.append(f"{place}:{number} holds a marker")
        short = normalised(line)
        if short not in secrets.seen:
            secrets.seen[short] = _copy_of(short, secrets.lines)
        if origin := secrets.seen[short]:
            found.append(f"{place}:{number} is a (near-)copy of the solution at {origin}")
    return found


def _copy_of(line: str, secrets: Mapping[str, str]) -> str:
    if len(line) < INFORMATIVE:
        return ""
    if line in secrets:
        return secrets[line]
    matcher = difflib.SequenceMatcher(autojunk=False)
    matcher.set_seq2(line)
    for secret, origin in secrets.items():
        if secret in line:
            return origin
        matcher.set_seq1(secret)
        # The cheap upper bounds rule out almost every pair before the costly ratio.
        if matcher.real_quick_ratio() > NEAR and matcher.quick_ratio() > NEAR and matcher.ratio() > NEAR:
            return origin
    return ""
