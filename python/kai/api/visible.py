"""Names and sentences on terminals: what cannot be seen is written out.

Names come from files. A control character in one could move the cursor or change colours, a line
break could look like a line of ours, and a bidirectional mark shows text in another order.

>>> print(visible("a\\x1b[31m\\nb\\u202ec"))
a\\x1b[31m\\nb\\u202ec
"""

from __future__ import annotations


def visible(text: str) -> str:
    """The text in one line, with escapes such as ``\\u202e`` for what does not show."""
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape").decode() for each in text
    )
