"""The exceptions that memory raises on purpose. Tools translate them for the model, commands for people."""

from texts import TextError


class StoreError(TextError):
    """The base of all; its text, a message with values, says what happened and what to do."""


class DatabaseRefused(StoreError):
    """The whole file is unavailable just now: callers wait and retry until it is."""


class DatabaseBusy(DatabaseRefused):
    """Another program holds the database; a later retry may work."""


class DatabaseFull(DatabaseRefused):
    """The disk does not accept the write; nothing was stored."""


class DatabaseOutdated(DatabaseRefused):
    """The file has an older version: run `carina db migrate`."""


class DatabaseTooNew(DatabaseRefused):
    """The file was written by a newer Carina."""


class DatabaseCorrupt(DatabaseRefused):
    """The file, or its record of migrations, is damaged."""


class FolderLocked(StoreError):
    """Another service uses this data folder."""


class BlockNotFound(StoreError):
    """No visible block has that label."""


class BlockExists(StoreError):
    """A block with that label exists already."""


class BlockTooLong(StoreError):
    """The write would pass the block's character limit; nothing was written."""


class BlockRefused(StoreError):
    """The writer may not do that to this block, or may not write this where others can read it."""


class BlockCorrupt(StoreError):
    """A stored change cannot be read; the block was rebuilt from sound data, or could not be."""


class EntryNotFound(StoreError):
    """No visible archival entry has that label or id."""


class Refused(StoreError):
    """A write was refused for the reason that the text gives."""


class BlockChanged(Refused):
    """Others have changed that part of the block since the writer saw it; the text says what it is now."""


class RowUnreadable(Exception):
    """The content of a queue row is damaged or of a newer version; only that row is given up."""
