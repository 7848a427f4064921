# SPDX-License-Identifier: Apache-2.0
"""What the Python scripts of this folder share: the repository, how a script ends in error, and the
Python that has the packages."""
import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
VENV = ROOT / ".cache" / "venv"
_SCRIPT = pathlib.Path(sys.modules["__main__"].__file__)


def die(text):
    """Ends the script with one line on stderr and exit code 2: wrong use, or something is missing."""
    print(f"ci/{_SCRIPT.name}: error: {text}", file=sys.stderr)
    sys.exit(2)


def enter_venv():
    """Goes on under the Python of .cache/venv, which has the packages; where there is none, under
    this one if it has them."""
    if pathlib.Path(sys.prefix).resolve() == VENV.resolve():
        return
    python = VENV / "bin" / "python"
    if not python.exists() and importlib.util.find_spec("onnx"):
        return
    if not python.exists():
        die(f"{python} is missing; run ci/deps")
    os.execv(python, [str(python), str(_SCRIPT), *sys.argv[1:]])
