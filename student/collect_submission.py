"""Make submission.zip of what is to be handed in, and say what is missing."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
RESULTS = [
    "vanilla.model.params",
    "vanilla.nopretrain.dev.predictions",
    "vanilla.nopretrain.test.predictions",
    "london_baseline_accuracy.txt",
    "vanilla.finetune.params",
    "vanilla.pretrain.dev.predictions",
    "vanilla.pretrain.test.predictions",
    "rope.finetune.params",
    "rope.pretrain.dev.predictions",
    "rope.pretrain.test.predictions",
]


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
        print(f"not in it, because not there yet: {', '.join(missing)}; see handout 3.4", file=sys.stderr)
    return 1 if missing else 0


sys.exit(main())
