r"""THREATS 2: overwrite, remove, rename and touch the files of the grader, and what Python has compiled of them

Reached: REACHED: [1-9]\d* refused
"""

import glob
import os

import autograder

package = os.path.dirname(os.path.abspath(autograder.__file__))
root = os.path.dirname(package)
paths = [f"{package}/{name}.py" for name in ("grading/grade", "judging/compare", "attack-was-here")]
paths += glob.glob(f"{package}/**/__pycache__/*.pyc", recursive=True)
paths += glob.glob(f"{root}/tests/**/test_attn*.py", recursive=True)
paths += [
    f"{root}/tests/hidden/attention/conftest.py",
    f"{root}/pyproject.toml",
    f"{root}/tests/hidden/attack-was-here",
]
refused = 0
done = []
for path in paths:
    for attempt in (
        lambda: open(path, "ab").close(),
        lambda: os.open(path, os.O_RDONLY | os.O_TRUNC),
        lambda: os.truncate(path, os.path.getsize(path)),
        lambda: os.utime(path),
        lambda: os.chmod(path, 0o777),
        lambda: os.chown(path, os.getuid(), -1),
        lambda: os.setxattr(path, "user.attack-was-here", b"1"),
        lambda: os.link(path, "attack-was-here"),
        lambda: os.symlink(path, "attack-was-here"),
    ):
        try:
            attempt()
            done.append(path)
        except OSError:
            refused += 1


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
