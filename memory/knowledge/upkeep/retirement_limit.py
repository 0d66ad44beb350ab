"""How many entries upkeep may retire, in one run and in a week; `apply` refuses a plan that goes beyond it."""

from datetime import datetime, timedelta

from memory.knowledge.entries import WHOLE
from memory.store.database import Rows
from memory.store.ids import AgentId

WEEK = timedelta(days=7)
LEAST = 3
_PASS_PERCENT, _WEEK_PERCENT = 5, 10


def living(rows: Rows, agent: AgentId) -> int:
    return rows.number(f"SELECT count(*) FROM archival_entries WHERE agent_id = ? AND {WHOLE}", (agent,))


def allowance(rows: Rows, agent: AgentId, now: datetime) -> int:
    """How many entries of an agent may be retired now: 5 % per run and 10 % in any seven days, at least 3 in both."""
    standing = living(rows, agent)
    sql = """SELECT coalesce(sum(t.retired), 0) FROM dream_tallies t JOIN dream_runs r ON r.id = t.run_id
             WHERE t.agent_id = ? AND r.at > ? AND r.outcome = 'done'"""
    in_week = max(LEAST, standing * _WEEK_PERCENT // 100) - rows.number(sql, (agent, now - WEEK))
    return max(0, min(max(LEAST, standing * _PASS_PERCENT // 100), in_week))
