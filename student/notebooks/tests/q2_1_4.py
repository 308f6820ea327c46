from otter.test_files import test_case

OK_FORMAT = False

name = "q2_1_4"
points = None

@test_case(points=1, hidden=False)
def test_compute_outputs_public(env):
    import sys
    sys.path.append('student')
    from autograder.selfcheck.notebook import passes
    passes('compute_outputs', 'public', env)
