"""What all tests share: no property test is timed by the wall clock, which a busy machine would make fail."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
