"""The row of the table of targets that cannot be measured yet."""

from tables import Aim, Section


def run(_):
    return Section("TLS in, plain out", "Needs TLS on the client's side, which is not there yet.", (
        Aim("TLS in, plain out, keep-alive", "nginx", "≤ 0.9 ×", "–", None),))
