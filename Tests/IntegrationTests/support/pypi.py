"""Whoever imports this can import what `scripts/setup test` has put into build/venv from PyPI."""

import pathlib
import sys

VENV = next((pathlib.Path(__file__).resolve().parents[3] / "build/venv/lib").glob("python3*/site-packages"), None)
if VENV and str(VENV) not in sys.path:
    sys.path.append(str(VENV))
