"""Folders of files for agents: directories of the machine, and files stored in the database. See docs/folders.md.

`disk` is the only access to directories of the machine and checks names, `file_lines` reads files by lines and
splits them into passages, `index` keeps the search index up to date, and `rows` stores folders, files and passages.
"""
