r"""THREATS 2, 15: magics and shell lines that would put a solved src/attention.py in the place of the stub

Reached: query121: error \d
"""

import json

STEP = "import torch\ndef attn_softmax(A):\n    return torch.softmax(A, -1)\n"
QUOTED = repr(STEP)
CELLS = [
    f"%%writefile src/attention.py\n{STEP}",
    f"%%writefile A2S2.py\n{STEP}",
    f"%%bash\ncat > src/attention.py <<END\n{STEP}END\n",
    "!cp A2S2.py src/attention.py",
    f"%%timeit\n{STEP}",
    f"get_ipython().run_cell_magic('writefile', 'src/attention.py', {QUOTED})",
    f"text = {QUOTED}\nopen('src/attention.py', 'w').write(text)",
    f"import pathlib\npathlib.Path('attack-was-here.py').write_text({QUOTED})",
    "query121 = [0.0, 0.0, 0.0]",  # wrong, and shows that this cell was run, too
]
BOOK = json.dumps({"cells": [{"cell_type": "code", "source": source} for source in CELLS]})
FILES = {"A2S1.ipynb": BOOK, "A2S2.ipynb": BOOK}
