"""Files that hold no plain text: spreadsheets, PDF, pictures, archives. They are never read as text.

What is known by its first bytes is refused wherever it is met; a name alone refuses a file whose format is not given,
since old lists in plain text have such names, too.
"""

from __future__ import annotations

import re

SHEET = "a spreadsheet: save the sheet as CSV (UTF-8) and give that file"
PAGES = "a file of a word processor: save it as plain text"
PDF = "a PDF: take its text out, such as with pdftotext, and give that"
OFFICE = "an office document or an e-book: save it as CSV or as plain text"
ARCHIVE = "an archive: unpack it, and give the folder"
FRAME = "a file of a statistics program or a data frame: write it as CSV or Parquet"
DATABASE = "a database: write the table as CSV"
MEDIA = "a picture, a sound or a film, which has no text that could be read"
OUTLOOK = "a mailbox of Outlook: save its messages as .eml or .mbox"

KINDS = {
    extension: kind
    for kind, extensions in {
        SHEET: "xlsx xlsm xlsb xls xltx ods fods numbers",
        PAGES: "docx docm doc odt rtf pages",
        PDF: "pdf",
        OFFICE: "pptx ppt odp epub",
        ARCHIVE: "7z rar zst lz4 br z",
        FRAME: "sav dta sas7bdat xpt rds rdata pkl pickle npy npz h5 hdf5 avro orc",
        DATABASE: "sqlite sqlite3 db mdb accdb",
        MEDIA: "png jpg jpeg gif tif tiff bmp webp heic mp3 wav ogg flac mp4 mov avi mkv",
        OUTLOOK: "msg pst ost",
    }.items()
    for extension in extensions.split()
}
MAGIC = tuple(
    (re.compile(pattern, re.DOTALL), kind)
    for pattern, kind in (
        (rb"PK(\x03\x04|\x05\x06|\x07\x08)|7z\xbc\xaf|Rar!\x1a|\x28\xb5\x2f\xfd|\x04\x22\x4d\x18|\x1f\x9d", ARCHIVE),
        (rb".{257}ustar", ARCHIVE),
        (rb"\s{0,9}%PDF-\d", PDF),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OFFICE),  # Microsoft's files before 2007
        (rb"\{\\rtf\d", PAGES),
        (rb"SQLite format 3\0", DATABASE),
        (
            rb"\x93NUMPY|\x89HDF\r\n|Obj\x01|ORC\x03?\x08|RDX\d\n|\$FL[23]@|<stata_dta>|\x80[\x02-\x05][\x95\x8c\]}c]",
            FRAME,
        ),
        (rb"\x89PNG\r|\xff\xd8\xff|GIF8[79]a|II\*\0|MM\0\*|RIFF.{4}WEBP", MEDIA),
        (rb"RIFF.{4}(WAVE|AVI )|ID3[\x02-\x04]|OggS\0|fLaC\0|\0\0\0.ftyp", MEDIA),
        (rb"!BDN", OUTLOOK),
    )
)
OPEN_XML, OPEN_DOCUMENT = "[Content_Types].xml", "mimetype"  # members by which a zip archive is known to be a document
FOLDERS = {"xl": SHEET, "word": PAGES}


def by_extension(name: str) -> str:
    """What a file is by its name, and what to do with it; "" for others."""
    return KINDS.get(name.lower().rpartition(".")[2], "") if "." in name else ""


def by_magic(head: bytes, name: str) -> str:
    """What a file is by its first bytes, where these are of no plain text: more exactly by its name."""
    kind = next((kind for magic, kind in MAGIC if magic.match(head)), "")
    return kind and (by_extension(name) or kind)


def in_zip(names: list[str], name: str) -> str:
    """What a zip archive is that holds one document; "" for one of files."""
    if not {OPEN_XML, OPEN_DOCUMENT} & {*names}:
        return ""
    folders = (FOLDERS[top] for one in names if (top := one.partition("/")[0]) in FOLDERS)
    return next((kind for kind in (by_extension(name), *folders) if kind and kind != ARCHIVE), OFFICE)
