"""Make submission.zip of what is to be handed in, and say what is missing."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS: dict[str, str] = {  # handed in beside src/ and notebooks/: the file, and where the handout asks for it
    # FILES OF THE COURSE
}


def main() -> int:
    sources = sorted(path for path in (HERE / "src").rglob("*.py") if "__pycache__" not in path.parts)
    notebooks = sorted((HERE / "notebooks").glob("*.ipynb"))
    results = [HERE / name for name in RESULTS]
    there = [path for path in (*sources, *notebooks, *results) if path.is_file()]
    unfinished = HERE / "submission.zip.part"
    with zipfile.ZipFile(unfinished, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in there:
            archive.write(path, path.relative_to(HERE))
    unfinished.replace(HERE / "submission.zip")
    print(f"submission.zip: {len(there)} files")
    missing = [path.name for path in results if not path.is_file()]
    if missing:
        sections = " and ".join(sorted({RESULTS[name] for name in missing}))
        print(f"not in it, because not there yet: {', '.join(missing)}; see handout {sections}", file=sys.stderr)
    return 1 if missing else 0


sys.exit(main())
