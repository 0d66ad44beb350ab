"""`carina doctor` and `/doctor`: whether everything that the service stands on is as it should be, and what to do.

`service` puts the parts together: `ground` looks at the machine and the files, `minds` asks models and the embedder.
What is outside is only asked, never changed; asking a model costs some ten tokens.
"""
