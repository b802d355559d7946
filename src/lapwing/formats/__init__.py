"""Models as files: lapwing's own, and BBR's and BMR's."""

from lapwing.formats.model_file import is_model_file, load, save

__all__ = ["is_model_file", "load", "save"]
