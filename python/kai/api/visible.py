"""Names and sentences on terminals: what cannot be seen is written out.

Names come from files. A control character in one could move the cursor or change colours, a line
break could look like a line of ours, and a bidirectional mark shows text in another order.

>>> print(visible("a\\x1b[31m\\nb\\u202ec"))
a\\x1b[31m\\nb\\u202ec
"""

from __future__ import annotations

import unicodedata

_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Zl", "Zp"))


def visible(text: str) -> str:
    """The text in one line, with escapes such as ``\\u202e`` for what does not show."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(map(_visible, text))


def _visible(character: str) -> str:
    if character.isprintable() or unicodedata.category(character) not in _UNSEEN:
        return character
    code = ord(character)
    escaped = f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
    return _SHORT.get(character) or (escaped if code < 0x10000 else f"\\U{code:08x}")
