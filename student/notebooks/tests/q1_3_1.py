from otter.test_files import test_case

OK_FORMAT = False

name = "q1_3_1"
points = None

@test_case(points=3, hidden=False)
def test_query131_public(env):
    import sys
    sys.path.append('student')
    from autograder.selfcheck.notebook import passes
    passes('query131', 'public', env)
