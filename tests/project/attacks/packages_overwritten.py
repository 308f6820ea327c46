"""THREATS 2, 35: put a .pth, a sitecustomize.py and a torch.py where the next Python would find them"""

import os
import sys
import sysconfig

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
            pass
    for name in ("torch/__init__.py", "site.py", "__init__.py", "pytest/__init__.py"):
        try:
            open(os.path.join(folder, name), "a").close()
            done.append(name)
        except OSError:
            pass


def attn_scaled(A, n_embd, n_heads):
    if done:
        raise RuntimeError(f"LEAK BREACH {done}")
    return A
