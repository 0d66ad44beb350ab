"""Folders of files for agents: directories of the machine, and files stored in the database. See docs/folders.md.

`disk` is the only access to directories of the machine and checks names, `windows` reads files by lines, `index` keeps
the search index up to date, `passages` splits files for it, and `rows` stores folders, files and passages.
"""

from memory.folders.index import Progress as Progress
from memory.folders.index import from_content as from_content
from memory.folders.index import index as index
from memory.folders.rows import MAX_CONTENT as MAX_CONTENT
from memory.folders.rows import Access as Access
from memory.folders.rows import AttachedFolder as AttachedFolder
from memory.folders.rows import File as File
from memory.folders.rows import Folder as Folder
from memory.folders.rows import FolderKind as FolderKind
from memory.folders.rows import NewFolder as NewFolder
from memory.folders.rows import agents_of as agents_of
from memory.folders.rows import attach as attach
from memory.folders.rows import attached as attached
from memory.folders.rows import content as content
from memory.folders.rows import create as create
from memory.folders.rows import detach as detach
from memory.folders.rows import embedding_models as embedding_models
from memory.folders.rows import file as file
from memory.folders.rows import files as files
from memory.folders.rows import folders as folders
from memory.folders.rows import named as named
from memory.folders.rows import put as put
from memory.folders.rows import remove as remove
from memory.folders.rows import remove_files as remove_files
from memory.folders.rows import set_audience as set_audience
from memory.folders.rows import set_embedding_model as set_embedding_model
from memory.folders.rows import sizes as sizes
