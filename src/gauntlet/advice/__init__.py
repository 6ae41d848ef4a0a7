"""Which transport serves each class of service, from measurements and by a stated rule.

A study recommends and gives its reasons in words. Here each reason is a *need* (`gauntlet.advice.classes`): a
KPI of an experiment, the delays and losses of the channel under which it counts, and a limit, either absolute
or against the best protocol. A protocol serves a class when the mean over repetitions keeps the limit of
every need under every channel delay and loss; it serves the class *without loss* when it does so where the
channel loses nothing. What did not end counts with its limit; a protocol that delivers nothing in some
repetition keeps no limit. Where a need is of a share of messages within a time, no more of them may be late
or lost than it lets be either (`gauntlet.advice.lateness`).
"""
