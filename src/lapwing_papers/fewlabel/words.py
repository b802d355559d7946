"""Category names and descriptions, as they come with the collections."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Hashable, Iterable
from pathlib import Path

NOTES = "cat-descriptions"  # Lewis's notes in Reuters-21578, Distribution 1.0: `Crude Oil (CRUDE)`
ENTRY = re.compile(r"^\s*(?P<text>\S.*?)\s*\((?P<code>[A-Z][A-Z-]*)\)\s*$", re.MULTILINE)

# The lines that went with the names in Usenet's list of newsgroups: fourteen word for word as in that of B News 2.11
# (1987); the six groups that are younger have ours.
NEWSGROUPS = {
    "alt.atheism": "Godless heathens.",
    "comp.graphics": "Computer graphics, art, animation, image processing.",
    "comp.os.ms-windows.misc": "General discussions about Windows issues.",
    "comp.sys.ibm.pc.hardware": "XT/AT/EISA hardware, any vendor.",
    "comp.sys.mac.hardware": "Macintosh hardware issues & discussions.",
    "comp.windows.x": "Discussion about the X Window System.",
    "misc.forsale": "Short, tasteful postings about items for sale.",
    "rec.autos": "Automobiles, automotive products and laws.",
    "rec.motorcycles": "Motorcycles and related products and laws.",
    "rec.sport.baseball": "Discussion about baseball.",
    "rec.sport.hockey": "Discussion about hockey.",
    "sci.crypt": "Different methods of data en/decryption.",
    "sci.electronics": "Circuits, theory, electrons and discussions.",
    "sci.med": "Medicine and its related products and regulations.",
    "sci.space": "Space, space programs, space related research, etc.",
    "soc.religion.christian": "Christianity and related topics.",
    "talk.politics.guns": "The politics of firearm ownership and (mis)use.",
    "talk.politics.mideast": "Discussion & debate over Middle Eastern events.",
    "talk.politics.misc": "Political discussions and ravings of all kinds.",
    "talk.religion.misc": "Religious, ethical, & moral implications.",
}


def descriptions(categories: Iterable[Hashable], data: str | None = None) -> dict[Hashable, str]:
    """What the collection at `data` says of its categories; those it says nothing of are left out."""
    known = {**NEWSGROUPS, **(_reuters(Path(data)) if data is not None else {})}
    return {label: known[str(label)] for label in categories if str(label) in known}


def _reuters(path: Path) -> dict[str, str]:
    """From the notes among the SGML files, in a folder or an archive of it; the subject codes end at a rule."""
    text = ""
    if path.is_dir():
        notes = sorted(path.rglob(f"{NOTES}*"))
        text = notes[0].read_text(encoding="latin-1") if notes else ""
    elif tarfile.is_tarfile(path):
        with tarfile.open(path) as archive:
            for member in archive:
                if Path(member.name).name.startswith(NOTES) and (stream := archive.extractfile(member)) is not None:
                    text = stream.read().decode("latin-1")
                    break
    subjects = text.partition("____")[0].partition("****Subject Codes")[2]
    return {entry["code"].lower(): entry["text"] for entry in ENTRY.finditer(subjects)}
