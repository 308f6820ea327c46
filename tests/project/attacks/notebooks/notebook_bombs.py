r"""THREATS 22, 33: notebooks of nothing but brackets, without end and without a bottom

Reached: A2S1\.ipynb cannot be read as a notebook
"""

FILES = {
    "A2S1.ipynb": '{"metadata": ' + "[" * 200_000 + "]" * 200_000 + ', "cells": ' + '[{"source":' * 100_000,
    "A2S2.ipynb": '{"cells": [], "x": [' + "[]," * 200_000 + "[]]}",
    "A2S2.py": "x = " + "(" * 100_000 + "\n\n" + "-" * 200_000 + "1\n",
}
