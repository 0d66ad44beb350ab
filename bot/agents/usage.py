"""What a model call used, as the books keep it."""

from bot.models.base import Usage
from memory.usage import Spent


def spent(model: str, usage: Usage) -> Spent:
    """A call of a model by its name."""
    return Spent(
        model,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.cost_usd,
    )
