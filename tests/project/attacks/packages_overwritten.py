r"""THREATS 2, 35: put a .pth, a sitecustomize.py and a torch.py where the next Python would find them

Reached: REACHED: [1-9]\d* refused
"""

import os
import sys
import sysconfig

refused = 0
done = []
folders = {
    *sys.path,
    *sysconfig.get_paths().values(),
    os.path.dirname(torch.__file__),
    "/usr/lib/python3/dist-packages",
}
for folder in folders:
    for name in (
        "attack-was-here.pth",
        "sitecustomize.py",
        "usercustomize.py",
        "torch.py",
        "conftest.py",
        "pytest.ini",
    ):
        try:
            with open(os.path.join(folder, name), "x") as file:
                file.write("print('LEAK')")
            done.append(file.name)
        except OSError:
            refused += 1
    for name in ("torch/__init__.py", "site.py", "__init__.py", "pytest/__init__.py"):
        try:
            open(os.path.join(folder, name), "a").close()
            done.append(name)
        except OSError:
            refused += 1


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    raise RuntimeError(f"REACHED: {refused} refused")
