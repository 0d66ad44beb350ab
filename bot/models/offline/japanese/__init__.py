"""Japanese."""

from bot.models.offline.japanese.table import JAPANESE

__all__ = ["JAPANESE"]
