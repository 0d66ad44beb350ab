"""Documents of Loro: their changes, parts, past and merging; no module here knows of SQLite or of rights."""
