"""Who may use a tool: the stages and the agents that its entry or handler is restricted to.

This is the one definition of what `stages` and `agents` mean.
"""

from __future__ import annotations

from collections.abc import Collection

# In `stages`, means every stage. It is also a valid name of an agent.
EVERY_STAGE = "all"


def is_in_scope(
    stages: Collection[str] | None, agents: Collection[str] | None, stage: str | None, agent: str | None
) -> bool:
    """Whether `agent` may use at `stage` what is restricted to `stages` and `agents`.

    A restriction that is None allows everything, and an empty one nothing; both must allow the caller. A caller that
    does not name its stage, or its agent, is not restricted by it.
    """
    if stage is not None and stages is not None and stage not in stages and EVERY_STAGE not in stages:
        return False
    return agent is None or agents is None or agent in agents


def can_meet(
    stages: Collection[str] | None,
    agents: Collection[str] | None,
    other_stages: Collection[str] | None,
    other_agents: Collection[str] | None,
) -> bool:
    """Whether an agent at a stage may satisfy both restrictions: `stages` and `agents`, and the other two."""

    def meet(ours: Collection[str] | None, theirs: Collection[str] | None) -> bool:
        if ours is None or theirs is None:
            return (ours is None or bool(ours)) and (theirs is None or bool(theirs))
        return not set(ours).isdisjoint(theirs)

    def every(stages: Collection[str] | None) -> Collection[str] | None:
        return None if stages is not None and EVERY_STAGE in stages else stages

    return meet(every(stages), every(other_stages)) and meet(agents, other_agents)
