"""German."""

from bot.models.offline.german.table import GERMAN

__all__ = ["GERMAN"]
