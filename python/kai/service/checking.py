"""Options of a program, checked as far as possible without a connection.

    check(Options(listen=":99999"))   # InvalidInputError: --listen-address: port 99999 is ...

Their own types have checked each value; here is what a program finds only when it starts.
"""

from __future__ import annotations

from kai.controllers.planning.core import make_core
from kai.live.usage_db import usage_db_of
from kai.service.options import Options
from kai.service.pages import addresses_in


def check(options: Options) -> None:
    """Raises InvalidInputError and InvalidConfigError as `kai.run` does for these options."""
    options = options.with_config()
    if options.listen:
        addresses_in("--listen-address", options.listen)
    make_core(options)
    if options.has("scheduler"):
        usage_db_of(options)
