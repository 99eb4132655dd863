"""Passwords: in no file and in no object of ours. The environment has them, until one is needed."""

import os

from headgate.errors import InputError


def password(variable: str, of: str) -> str:
    """What the environment has under a name."""
    if variable not in os.environ:
        raise InputError(f"the environment has the password of {of}", f"no variable {variable}", f"Set {variable}.")
    return os.environ[variable]
