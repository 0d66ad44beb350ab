"""The offline model: answers by rules and from memory, with no key, no network and no pretence."""

from bot.models.offline.model import OfflineModel

__all__ = ["OfflineModel"]
