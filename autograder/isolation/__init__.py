"""Isolation: student code runs in a process that can compute, use its own folder, and answer. Nothing else.

`probe` finds out which layers this machine has, `confine` puts them in force in a forked child, `kill_tree` ends it.
"""

from autograder.isolation.confine import confine
from autograder.isolation.ending import kill_tree, processes
from autograder.isolation.layers import Confinement, Layers, NotConfined
from autograder.isolation.namespaces import fork_alone
from autograder.isolation.paths import python_folders
from autograder.isolation.probe import probe

__all__ = [
    "Confinement",
    "Layers",
    "NotConfined",
    "confine",
    "fork_alone",
    "kill_tree",
    "probe",
    "processes",
    "python_folders",
]
