"""`carina doctor` and `/owner doctor`: check the installation and suggest fixes.

`checks` combines the parts: `host_checks` looks at the machine and the files, `model_checks` asks models and the
embedder. A running service runs `carina doctor` as another process (`bot/services/status.py`). Checks never change
anything outside; asking a model costs about ten tokens.
"""
