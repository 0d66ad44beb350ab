"""Logs events with fields, by the standard library's loggers; `bot.logs` decides where lines go."""

import logging


class Log:
    """Logs under a name: `log.warning("job_late", seconds=3)`. The fields are the record's `fields`."""

    def __init__(self, name: str) -> None:
        self._logger = logging.getLogger(name)

    def debug(self, event: str, *, exc_info: bool | BaseException | None = None, **fields: object) -> None:
        self._logger.debug(event, exc_info=exc_info, extra={"fields": fields})

    def info(self, event: str, **fields: object) -> None:
        self._logger.info(event, extra={"fields": fields})

    def warning(self, event: str, *, exc_info: bool | BaseException | None = None, **fields: object) -> None:
        self._logger.warning(event, exc_info=exc_info, extra={"fields": fields})

    def error(self, event: str, *, exc_info: bool | BaseException | None = None, **fields: object) -> None:
        self._logger.error(event, exc_info=exc_info, extra={"fields": fields})

    def exception(self, event: str, **fields: object) -> None:
        """Log the exception that is being handled, with its traceback."""
        self._logger.exception(event, extra={"fields": fields})
