"""SQLite files: transactions, migrations, ids, clock, backups, fault points."""
