"""Notebooks and exported scripts become cells and statements, or one clear line."""

from __future__ import annotations

import ast
import json

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from autograder.running import notebook_json
from autograder.running.cells import Places, Unreadable, read_cells, said_place
from autograder.running.magics import plain_cell, uncommented, without_exported
from autograder.running.statements import statements


def notebook(*sources, **more):
    cells = [{"cell_type": "code", "source": source, "outputs": [], "metadata": {}} for source in sources]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4} | more).encode()


def texts(name, content):
    return [cell.text for cell in read_cells(name, content)[0]]


# Notebooks


def test_code_cells_are_counted_as_jupyter_counts_them_after_running_all():
    content = json.dumps(
        {
            "metadata": {"cells": [{"cell_type": "code", "source": "not_me = 1"}]},
            "cells": [
                {"cell_type": "markdown", "source": ["# Title"]},
                {"source": ["x = 1\n", "y = 2"], "cell_type": "code", "outputs": [{"text": ['"cells": ["{[']}]},
                {"cell_type": "code", "source": "  \n"},
                {"cell_type": "raw", "source": "z"},
                {"cell_type": "code", "source": "", "input": "only_before_2015 = 1"},
                {"cell_type": "code", "source": "w = 3\r\nv = 4"},
            ],
        }
    ).encode()
    cells, kind = read_cells("A.ipynb", content)
    assert kind == "notebook"
    assert [(cell.place, cell.text) for cell in cells] == [
        ("A.ipynb, cell 1", "x = 1\ny = 2"),
        ("A.ipynb, cell 2", "w = 3\nv = 4"),
    ]


def test_notebooks_of_before_2015_are_read():
    sheet = {"cells": [{"cell_type": "code", "input": ["a = 1\n", "b"], "language": "python"}]}
    assert texts("A.ipynb", json.dumps({"worksheets": [sheet, {}], "nbformat": 3}).encode()) == ["a = 1\nb"]


def test_pictures_cost_nothing():
    """Twenty megabytes of output are one step for the reader."""
    picture = {"data": {"image/png": "iVBOR" * 4_000_000}}
    content = json.dumps({"cells": [{"cell_type": "code", "source": "x = 1", "outputs": [picture]}]})
    reader = notebook_json._Reader(content)
    reader.skip()
    assert reader.parts < 40
    assert texts("A.ipynb", content.encode()) == ["x = 1"]


BAD = {
    "empty": ("", "it is empty"),
    "not JSON": ("x = 1\n", "its JSON is broken in line 1"),
    "cut off": ('{\n"cells": [\n{"cell_type": "co', "its JSON is broken in line 3"),
    "bad escape": ('{"cells": [{"source": "\\q"}]}', "its JSON is broken in line 1"),
    "more behind it": ('{"cells": []} {}', "its JSON is broken in line 1"),
    "a list": ("[]", "its JSON is broken in line 1"),
    "no cells": ('{"nbformat": 4}', "it is JSON, but has no list of cells"),
    "cells of another kind": ('{"cells": 3}', "it is JSON, but has no list of cells"),
    "a number as cell": ('{"cells": [{}, 1]}', "its cell 2 is not a cell"),
    "a number as source": ('{"cells": [{"source": 1}]}', "the text of its cell 1 is not text"),
    "numbers as lines": ('{"cells": [{"source": ["a", 1]}]}', "the text of its cell 1 is not text"),
    "a worksheet": ('{"worksheets": [1]}', "one of its worksheets is not one"),
    "deep": ('{"x": ' + "[" * 100_000, "its JSON is broken in line 1"),
    "deep cells": ('{"cells": ' + "[" * 100_000, "its cell 1 is not a cell"),
}


@pytest.mark.parametrize(("text", "why"), BAD.values(), ids=BAD)
def test_what_is_no_notebook_gets_one_clear_line(text, why):
    with pytest.raises(Unreadable) as error:
        read_cells("A2S1.ipynb", text.encode())
    assert str(error.value) == f"A2S1.ipynb cannot be read as a notebook: {why}"


@pytest.mark.parametrize(
    ("limit", "content", "why"),
    [
        ("LARGEST", notebook("x"), "it is larger than 0 million characters; clear its outputs"),
        ("MOST_PARTS", notebook("x"), "there is too much in it; clear its outputs"),
        ("MOST_CELLS", notebook(*"abcdefgh"), "it has more than 5 cells"),
        ("MOST_CODE", notebook("x" * 10), "it holds more than 0 million characters of code"),
    ],
)
def test_nothing_in_a_notebook_may_be_without_end(monkeypatch, limit, content, why):
    monkeypatch.setattr(notebook_json, limit, 5)
    with pytest.raises(Unreadable, match=why):
        read_cells("A.ipynb", content)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["cells", "worksheets", "cell_type", "source", "input"]), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.binary(max_size=200) | json_values.map(lambda value: json.dumps(value).encode()))
@settings(deadline=None)
@example(b'{"cells": [{"cell_type": "code", "source": "\\ud800 = 1"}]}')
@example(b"\xff\xfe\x00")
def test_the_reader_gives_cells_or_its_one_error(content):
    for name in ("A.ipynb", "A.py"):
        try:
            cells, kind = read_cells(name, content)
        except Unreadable as error:
            assert "\n" not in str(error)
            continue
        for one in statements(cells, kind, "/x"):
            assert one.error is not None or one.node is not None
            one.place.encode()


@given(json_values)
@settings(deadline=None)
def test_the_reader_agrees_with_a_whole_json_reader(value):
    """Whatever else a notebook holds, its code is what any other program finds in it."""
    book = {"metadata": value, "cells": [{"outputs": [value], "cell_type": "code", "source": "x", "more": value}]}
    assert texts("A.ipynb", json.dumps(book | {"z": value}, indent=1).encode()) == ["x"]


code_lines = st.sampled_from(
    ["x = 1", "if x:", "    y = 2", "# %%", "# In[2]:", "%time z = x", "!ls \\", '"""', "'", "(", ")", "%%time",
     "%%bash", "get_ipython().run_cell_magic('time', '', 'a = 1\\n')", "def f():", "@f", "x?", "",
     "\\", "\f", "\0"]
)  # fmt: skip


@given(st.lists(code_lines, max_size=12))
@settings(deadline=None)
def test_whatever_a_script_looks_like_its_lines_keep_their_numbers(lines):
    text = "\n".join(lines)
    assert plain_cell(text).count("\n") == uncommented(text).count("\n") == text.count("\n")
    cells, kind = read_cells("A.py", text.encode())
    for one in statements(cells, kind, "/x"):
        assert 1 <= one.line <= len(lines) + 1


# Scripts


@pytest.mark.parametrize(
    "script",
    [
        "# %%\nx = 1\n\n# %% [markdown]\n# Title\n\n# %% the end\ny = 2\n",
        "#!/usr/bin/env python\n# coding: utf-8\n\n# # Title\n\n# In[1]:\n\n\nx = 1\n\n\n# In[ ]:\n\n\ny = 2\n",
        "x = 1\n#%%\ny = 2\n",
        "x = 1\n\ny = 2\n",
        '"""A2S1.ipynb\n\nMade by Colab.\n"""\n\nx = 1\n\n"""# Title"""\n\ny = 2\n',
    ],
    ids=["percent", "nbconvert", "spyder", "nothing", "colab"],
)
def test_cells_of_scripts_are_told_apart(script):
    cells, kind = read_cells("A.py", script.encode())
    found = {name: one for one in statements(cells, kind, "/x") for name in one.sets}
    assert found["x"].cell != found["y"].cell
    assert all(one.place == "A.py" and script.split("\n")[one.line - 1] == f"{name} = {1 + (name == 'y')}"
               for name, one in found.items())  # fmt: skip


def test_a_marker_within_a_string_or_a_block_is_none():
    script = 'x = """\n# %%\n"""\nif x:\n    y = 1\n# %%\n    z = 2\n# %%\nw = 3\n'
    cells, kind = read_cells("A.py", script.encode())
    assert [(one.line, sorted(one.sets)) for one in statements(cells, kind, "/x")] == [
        (1, ["x"]), (4, ["y", "z"]), (9, ["w"]),
    ]  # fmt: skip


@pytest.mark.parametrize("script", ["@decorated\n# %%\ndef f(): pass\n", "f = 1 \\\n# %%\n\n"])
def test_a_marker_within_a_statement_does_not_tear_it(script):
    cells, kind = read_cells("A.py", script.encode())
    (one,) = statements(cells, kind, "/x")
    assert one.sets == {"f"} and one.error is None
    assert ast.dump(one.node) == ast.dump(ast.parse(script).body[0])


def test_a_notebook_under_the_name_of_a_script():
    with pytest.raises(Unreadable, match=r"A\.py is not a script but a notebook; rename it to A\.ipynb"):
        read_cells("A.py", notebook("x = 1"))


def test_a_broken_piece_of_an_unmarked_script_costs_only_itself():
    """Colab's exports mark no cells; one that does not parse must not cost the others."""
    script = 'a = """\n\nb\n"""\n\nx = (1\n\ndef f():\n    return 1\n\n\n    # still f\n\ny = 2\n'
    cells, kind = read_cells("A.py", script.encode())
    found = statements(cells, kind, "/x")
    assert [sorted(one.sets) for one in found if one.node] == [["a"], ["f"], ["y"]]
    (broken,) = [one for one in found if one.error]
    assert broken.sets == {"x"} and broken.line == 6 and isinstance(broken.error, SyntaxError)


# Magics


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install a \\\n   b\nx = 1", "pass\n\nx = 1"),
        ("pip install torch", "pass"),
        ("if x:\n    !ls\n    %time y = f()", "if x:\n    pass\n    y = f()"),
        ("%%time\nx = 1", "\nx = 1"),
        ("# why\n\n%%capture out\n%%time\nx = 1", "# why\n\n\n\nx = 1"),
        ("%%prun -l 5\nx = 1", "\nx = 1"),
        ("%%bash\nls (", "\n"),
        ("%%writefile src/attention.py\ndef f(): pass", "\n"),
        ("%%html\n<b>", "\n"),
        ("%%timeit\nx = 1", "\n"),
        ("%timeit x = 1", "pass"),
        ("%time", "pass"),
        ("%time !ls", "pass"),
        ("%unknown whatever it (says", "pass"),
        ("files = !ls", "files = []"),
        ("x = %time f(1)", "x = f(1)"),
        ("t = %timeit -o f(1)", "t = None"),
        ("?x", "pass"),
        ("x?", "pass"),
        ("torch.nn??", "pass"),
        ("s = '''\n%time\n!ls\n'''", "s = '''\n%time\n!ls\n'''"),
        ("f(1,\n%s)", "f(1,\n%s)"),
        ("x = 7 \\\n%3", "x = 7 \\\n%3"),
        ("x = 7 %3 # it's\n%time y = 1", "x = 7 %3 # it's\ny = 1"),
        ("x = 'a\\'' != y", "x = 'a\\'' != y"),
    ],
)
def test_magics_become_what_they_define(text, plain):
    assert plain_cell(text) == plain


@pytest.mark.parametrize(
    ("exported", "plain"),
    [
        ("get_ipython().run_line_magic('matplotlib', 'inline')", "pass"),
        ("get_ipython().system('ls')", "pass"),
        ("get_ipython().run_cell_magic('time', '', 'def f(x):\\n    return x\\n')", "def f(x):\n    return x"),
        ("get_ipython().run_cell_magic('capture', 'out', '%%time\\nx = 1\\n')", "x = 1"),
        ("get_ipython().run_cell_magic('time', '', \"get_ipython().run_cell_magic('time', '', 'x = 1')\")", "x = 1"),
        ("get_ipython().run_cell_magic('bash', '', 'x = 1')", "pass"),
        ("get_ipython().run_cell_magic('time', '', '')", "pass"),
        ("get_ipython().run_line_magic('time', 'x = f(1)')", "x = f(1)"),
        ("get_ipython().magic('time x = f(1)')", "x = f(1)"),
        ("x = get_ipython().run_line_magic('time', 'f(1)')", "x = f(1)"),
        ("x = get_ipython().run_line_magic('timeit', '-o f(1)')", "x = None"),
        ("x = get_ipython().getoutput('ls')", "x = []"),
        ("if x:\n    get_ipython().run_line_magic('time', 'y = 1')", "if x:\n    y = 1"),
        ("get_ipython().run_line_magic('time', name)", "pass"),
    ],
)
def test_exported_magics_become_what_they_define(exported, plain):
    tree = without_exported(ast.parse(f"\n\n{exported}"))
    assert ast.unparse(tree) == plain
    last = exported.count("\n") + 3
    assert all(3 <= node.lineno <= last for node in ast.walk(tree) if hasattr(node, "lineno"))


def test_code_behind_a_magic_that_does_not_parse_defines_nothing():
    text = "get_ipython().run_cell_magic('time', '', 'x = (')"
    assert ast.unparse(without_exported(ast.parse(text))) == text


def test_what_colab_comments_out_is_undone():
    note = "# Commented out IPython magic to ensure Python compatibility."
    script = f"{note}\n# %matplotlib inline\n# a comment\n{note}\n"
    script += "# %%time\n# def f():\n#     return 1\n#\n# y = 2\n\nz = 3\n"
    done = uncommented(script).split("\n")
    assert done[1:3] == ["%matplotlib inline", "# a comment"]
    assert done[4:11] == ["", "def f():", "    return 1", "", "y = 2", "", "z = 3"]
    shell = f"{note}\n# %%bash\n# ls (\n\nz = 3\n"
    assert uncommented(shell).split("\n")[1:] == ["", "", "", "z = 3", ""]


# Places


def test_only_places_that_there_are_have_lines(tmp_path):
    (tmp_path / "hw").mkdir()
    (tmp_path / "hw/A.ipynb").write_bytes(notebook("x = 1\ny = 2", "z"))
    (tmp_path / "b.py").write_bytes(b"a\x0cb\r\nc")
    (tmp_path / "bad.ipynb").write_text("{")
    places = Places(tmp_path, {"hw/A.ipynb", "b.py", "bad.ipynb"})
    assert places.lines("hw/A.ipynb, cell 1") == ["x = 1", "y = 2"]
    assert places.lines("b.py") == ["a\x0cb", "c"]
    for nowhere in ("hw/A.ipynb", "hw/A.ipynb, cell 3", "hw/A.ipynb, cell 0", "hw/A.ipynb, cell 01", "A.ipynb, cell 1",
                    "b.py, cell 1", "bad.ipynb, cell 1", "../b.py", ""):  # fmt: skip
        assert places.lines(nowhere) == []


def test_places_are_said_as_people_say_them():
    assert said_place("A2S2.ipynb, cell 5", 3) == "A2S2.ipynb, cell 5, line 3"
    assert said_place("src/attention.py", 3) == "src/attention.py line 3"
    assert said_place("src/attention.py", 0) == "src/attention.py"
