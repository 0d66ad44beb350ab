"""What memory raises on purpose. Tools translate it for the model, commands for the person."""

from texts import TextError


class StoreError(TextError):
    """The base of everything in here; its text, a message with values, says what happened and what to do."""


class DatabaseRefused(StoreError):
    """The file as a whole cannot be used just now: what needs it waits and is tried again until it can."""


class DatabaseBusy(DatabaseRefused):
    """Another program holds the database; trying again later may work."""


class DatabaseFull(DatabaseRefused):
    """The disk does not take the write; nothing was stored."""


class DatabaseOutdated(DatabaseRefused):
    """The file is of an older version: `carina db migrate`."""


class DatabaseTooNew(DatabaseRefused):
    """The file was written by a newer Carina."""


class DatabaseCorrupt(DatabaseRefused):
    """The file, or its record of migrations, is not what it should be."""


class FolderLocked(StoreError):
    """Another service uses this data folder."""


class BlockNotFound(StoreError):
    """No block of that label can be seen from here."""


class BlockExists(StoreError):
    """A living block of that label already stands there."""


class BlockTooLong(StoreError):
    """The write would pass the block's character limit; nothing was written."""


class BlockRefused(StoreError):
    """The writer may not do that to this block, or may not write this down where others read it."""


class BlockCorrupt(StoreError):
    """A stored change cannot be read; the block was rebuilt from what is sound, or could not be."""


class EntryNotFound(StoreError):
    """No archival entry of that label or id can be seen from here."""


class Refused(StoreError):
    """A write was refused for the reason that the text gives."""


class BlockChanged(Refused):
    """Others changed the place of a block that the writer means since it was shown to them; the text says how it is."""


class RowUnreadable(Exception):
    """What a row of a queue holds is damaged or of a newer version; that row alone is given up."""
