"""English."""

from bot.models.offline.english.table import ENGLISH

__all__ = ["ENGLISH"]
