"""Makes names safe for terminals: invisible characters are shown as escapes.

Names come from files. A control character could move the cursor or change colours, a line break
could look like one of our lines, and a bidirectional mark changes the order of the text.

>>> print(visible("a\\x1b[31m\\nb\\u202ec"))
a\\x1b[31m\\nb\\u202ec
"""

from __future__ import annotations

from kai.errors import on_one_line


def visible(text: str) -> str:
    """The text on one line, with escapes such as ``\\u202e`` for invisible characters."""
    return on_one_line(text)
