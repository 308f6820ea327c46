r"""THREATS 1, 15: right answers where no code is: in outputs, metadata, markdown, attachments and a second key

Reached: query122: shape \(3,\)
"""

import json

RIGHT = "query121 = [4.7, 6.5, 6.0]\nquery131 = [0.0, 0.0, 0.0]\n"
STEP = "import torch\ndef attn_softmax(A):\n    return torch.softmax(A, -1)\n"


def hidden(code):
    cell = {"cell_type": "code", "source": code}
    return {
        "metadata": {"cells": [cell], "source": code},
        "worksheet": [{"cells": [cell]}],
        "cells": [
            {"cell_type": "markdown", "source": code, "attachments": {"x": cell}},
            {"cell_type": "raw", "source": code},
            {"cell_type": "code", "source": "", "input": code, "outputs": [cell, {"text": code, "data": {"x": code}}]},
            {"cell_type": ["code"], "source": code},
            {"cell_type": "Code", "source": code},
            {
                "cell_type": "code",
                "source": "query122 = [9.0, 9.0, 9.0]",
            },  # wrong, and shows that the notebook was read
        ],
    }


FILES = {"A2S1.ipynb": json.dumps(hidden(RIGHT)), "A2S2.ipynb": json.dumps(hidden(STEP))}
