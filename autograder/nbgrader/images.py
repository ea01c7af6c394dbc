"""The pictures that a student pasted into an answer: checked, renamed, or left out."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

MAX_IMAGE = 2_000_000  # bytes
MAX_IMAGES = 20
MAX_TOTAL = 8_000_000  # bytes of all pictures of a notebook

# Not SVG: it may hold a script.
KINDS = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff", "image/gif": b"GIF8"}
_USED = re.compile(r"\(attachment:([^()\s<>]{1,300})\)")


@dataclass
class Images:
    """Takes pictures from cells until a notebook has enough."""

    count: int = 0
    total: int = 0

    def take(self, text: str, attachments: Mapping[str, Any]) -> tuple[dict[str, str], Any]:
        """Return the pictures that a text uses: their new names by the old, and their data."""
        names: dict[str, str] = {}
        kept: dict[str, dict[str, str]] = {}
        for used in _USED.findall(text):
            name = unquote(used)
            if name in names or name not in attachments:
                continue
            kind, data = picture(attachments[name])
            self.count, self.total = self.count + bool(data), self.total + len(data)
            if not data or self.count > MAX_IMAGES or self.total > MAX_TOTAL:
                continue
            names[name] = f"image{self.count}.{kind.removeprefix('image/')}"
            kept[names[name]] = {kind: base64.b64encode(data).decode()}
        return names, kept


def picture(bundle: Any) -> tuple[str, bytes]:
    """Return kind and bytes of an attachment, or nothing if it is no picture that we know.

    >>> picture({"image/gif": "R0lGODlh"}), picture({"image/svg+xml": "PHN2Zz4="})
    (('image/gif', b'GIF89a'), ('', b''))
    """
    if not isinstance(bundle, dict):
        return "", b""
    for kind, beginning in KINDS.items():
        text = bundle.get(kind)
        if isinstance(text, list) and all(isinstance(part, str) for part in text):
            text = "".join(text)
        if not isinstance(text, str) or len(text) > 2 * MAX_IMAGE:
            continue
        try:
            data = base64.b64decode("".join(text.split()), validate=True)
        except (binascii.Error, ValueError):
            continue
        if data.startswith(beginning) and len(data) <= MAX_IMAGE:
            return kind, data
    return "", b""
