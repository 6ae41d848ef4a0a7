"""What all tests share.

No property test is timed by the wall clock, which a busy machine would make fail, and each takes the same
examples every time; `pytest --hypothesis-profile exploring` takes others.
"""

from hypothesis import settings

settings.register_profile("untimed", deadline=None, derandomize=True)
settings.register_profile("exploring", deadline=None)
settings.load_profile("untimed")
