"""The rules that the sentences of the answer follow, as the report prints them."""

from gauntlet.metrics.compare import fewest_repetitions

KEEPS = 0.95
"""A protocol that keeps at least this share of a KPI from one end of a condition to the other is said to keep
it.
"""


RULES = (
    "Every number is a mean over repetitions; brackets hold its 95 % confidence interval (bootstrap by "
    "repetition from eight repetitions on; below, means of subsets of them, which with fewer than six are "
    "the range of what was seen and hold the true mean with less than 95 %: 94, 88, 75 and 50 % of five to "
    "two; none for a single one nor where all are equal). No interval leaves the range of what was seen. n "
    "counts repetitions, never packets. Beside the mean stand the middle and the worst repetition.",
    "Flows that failed stay in the numbers. A transfer that did not end took longer than it was given and "
    "counts with its run's limit (restricted mean, marked ≥); a flow that was never established has a "
    "throughput of 0 and lost everything; a flow that delivered nothing has no delay and ranks behind all "
    "that have one, and the delay of one that failed counts with the limit, whatever it had brought by then. "
    "Where not all flows did what they were to do, their count (3 of 10) stands first.",
    "Best (★) under a condition is the protocol of which most flows did what they were to do, of several the "
    "one of the best mean; for what is asked of a flow (judge) the one of which most flows kept it, if any "
    "did.",
    "Worse is a protocol that another one beats beyond chance. All pairs are tested repetition by repetition "
    "(sign-flip permutation of the paired differences, of logarithms where all flows completed; "
    "adjusted for all pairs by the largest statistic, step-down), so that under one condition, for one KPI, "
    "the chance to call any protocol worse (▼) that does not differ is 5 % at most: for two protocols "
    "exactly, for more approximately (0.5 to 6.1 % by simulation). Any "
    "other is not distinguishable from the best (≈), or beats it beyond chance and is not the best since "
    "fewer of its flows completed or its mean is the lesser one (▲). With fewer than "
    f"{fewest_repetitions()} repetitions nothing can be called worse, better or equal, and no mark is set, "
    "unless nothing was drawn; the sentences say so and how many it takes.",
    "Equal (=) is a protocol whose difference from the best, with the whole of its 95 % interval, is below "
    "what the experiment calls too small to matter (matters), and of which as many flows completed; whether "
    "the difference is beyond chance does not count then. Both are marked so, and none of them as the best.",
    "What is asked of a flow (judge) is kept by a flow that did what it was to do and whose value keeps the "
    "bound. A flow that failed has not kept it. A quantile is one of all messages that were due, and one "
    "that never came is later than any other; where one is asked, all percentiles of delays are told so, "
    "elsewhere they are of what arrived. Under a condition it is kept where every flow of every "
    "repetition kept it; the value is the mean over repetitions.",
    "The protocol named first is the safest choice: the one of which the fewest flows failed under the "
    "condition where most of its flows did, of several the one whose largest shortfall from the best mean, "
    "over all conditions of the experiment, is the smallest.",
    "Whether the choice depends on the condition is told from who is best or not distinguishable from the "
    "best under each; where the values of one condition suffice to tell, whatever the others are, by those.",
    "Which setting to take, where settings are all that is varied for flows over one protocol: the one under "
    "which most flows keep what is asked in every repetition, of several the one under which most flows of "
    "single repetitions do, of several the one whose worst flow has the best mean; the others are tested "
    "against it like protocols. What it costs is the throughput of all flows in the background together, "
    "against the setting under which they carry most.",
    "What a condition costs is the ratio of a KPI between the condition's two ends, taken repetition by "
    "repetition and averaged, also over the other conditions, by its logarithm (geometric mean); where an "
    "end is zero it is the ratio of the means. A protocol that retains at least "
    f"{KEEPS * 100:.0f} % is said to keep that share; of the others it is said how much they lose.",
    "Deterministic: every repetition was the same one, since nothing was drawn that reached the flow; that "
    "is one observation (n = 1) without an interval.",
    "Flows with different work are judged apart and never averaged.",
    "Runs that failed or whose certificate did not hold take no part in means, tests or sentences.",
)
