"""`carina doctor` and `/owner doctor`: check the installation and suggest fixes.

`checks` puts the parts together: `host_checks` looks at the machine and the files, `model_checks` asks models and the
embedder. A running service has `carina doctor` run as another process (`bot/services/status.py`).
What is outside is only asked, never changed; asking a model costs some ten tokens.
"""
