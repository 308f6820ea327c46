"""Grade the solution many times: python benchmarks/repeat.py [TIMES]. Every time must be full marks, in equal bytes."""

from __future__ import annotations

import collections
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from autograder.checking.courses import read_course  # noqa: E402 (the path comes first)
from autograder.classroom.roster import read_roster  # noqa: E402
from autograder.files import zipped  # noqa: E402
from autograder.grading.grade import Setting, grade  # noqa: E402
from autograder.isolation import probe  # noqa: E402
from autograder.proving.assembling import Sources  # noqa: E402
from autograder.workers.remote import Limits  # noqa: E402


def main() -> int:
    times = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    folders = (ROOT / "tests" / "public", ROOT / "tests" / "hidden")
    setting = Setting(read_course("default").of_code, probe(), Limits(), folders, 2)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "solution.zip"
        path.write_bytes(zipped(Sources(ROOT / "solutions").solved()))
        started = time.monotonic()
        graded = grade(read_roster([path] * times), setting, Path(folder) / "out")
        seconds = time.monotonic() - started
        results = [json.loads((Path(folder) / "out" / one.id / "results.json").read_text()) for one in graded]
        for result in results:
            del result["execution_time"], result["extra_data"]["student"]  # what may differ: the time, and the name
        texts = {json.dumps(result) for result in results}
        scores = collections.Counter(result["score"] for result in results)
    print(f"isolation: {setting.layers.name}")
    print(f"{times} gradings: {', '.join(f'{count} x {score} points' for score, count in scores.items())}")
    print(f"different results: {len(texts)}; {seconds:.0f} s, {seconds / times:.2f} s each")
    return 0 if len(texts) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
