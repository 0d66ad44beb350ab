"""Reads the archive that people get of what is kept about them."""

import io
import zipfile


def files_in(archive: bytes) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(archive)) as opened:
        return {name: opened.read(name).decode() for name in opened.namelist()}


def data_in(archive: bytes) -> str:
    return files_in(archive)["data.json"]
