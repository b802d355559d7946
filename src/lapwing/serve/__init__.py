"""The server: models behind a small REST interface, and the page to try them in. Needs the extra `lapwing[serve]`."""

from lapwing.serve.settings import ServeSettings

__all__ = ["ServeSettings"]
