"""Budgets by command."""

import pytest

from bot.agents.budgets import Budgets
from bot.errors import UserError
from bot.services.agents.costs_and_budgets import Spending
from bot.services.caller import owner_at_terminal
from bot.services.registry import Registry
from memory import spending
from memory.spending import Limit
from memory.store.database import Database
from tests.bot.services.calling import NOW, PEOPLE, registry

OLGA = owner_at_terminal()


@pytest.fixture
def kept() -> Budgets:
    return Budgets()


@pytest.fixture
def budgets(database: Database, kept: Budgets) -> Registry:
    return registry(Spending(database, PEOPLE, lambda: NOW, "UTC", kept))


async def test_an_agent_has_one_budget_however_its_name_is_written(
    budgets: Registry, database: Database, kept: Budgets
) -> None:
    for of, usd in (("agent:ada", 1.0), ("agent:ADA", 5.0)):
        await budgets.call("budget.set", OLGA, {"of": of, "usd": usd})
    assert await database.read(spending.limits) == kept.limits == [Limit("agent:Ada", "day", 5.0)]
    await budgets.call("budget.clear", OLGA, {"of": "agent:ada"})
    assert await database.read(spending.limits) == kept.limits == []


@pytest.mark.parametrize("of", ["person:@ana.bsky.social", "person:Ana", "guild:Our server"])
async def test_a_budget_of_a_name_that_would_limit_nobody_is_refused(budgets: Registry, of: str) -> None:
    with pytest.raises(UserError, match="by ID"):
        await budgets.call("budget.set", OLGA, {"of": of, "usd": 1.0})
