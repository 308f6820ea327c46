"""THREATS 14: give every object the number of none, or of another

Reached: IndexError: cannot fit 'int' into an index-sized integer
"""

from autograder.running.perform import Performer, Reply
from autograder.running.plain import Handle

Performer._create = lambda self, request: Reply(Handle(10**4000))
