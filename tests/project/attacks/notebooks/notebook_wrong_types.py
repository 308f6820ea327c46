r"""THREATS 14, 33: a notebook of the right form with something else in every place

Reached: A2S1\.ipynb cannot be read as a notebook
"""

import json

FILES = {
    "A2S1.ipynb": json.dumps({"metadata": [[]], "nbformat": {}, "cells": [{"cell_type": 3, "source": {"a": 1}}, None]}),
    "A2S1.py": '{"cells": [{"cell_type": "code", "source": "query131 = [0, 0, 0]"}]}',
    "A2S2.ipynb": json.dumps({"cells": {"0": {"cell_type": "code"}}, "worksheets": [[]]}),
    "A2S2.py": "# %%\n\0\n# %%\n\ud83d = 1\n".encode("utf-8", "replace").decode(),
}
