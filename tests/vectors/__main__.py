"""`python -m tests.vectors PATH...`: a line a file, the first differences under it, exit 1 on any."""

import sys
from pathlib import Path

from . import runner

SHOWN = 5


def main(arguments: list[str]) -> int:
    """Run the vector files and folders named; 0 when all cases of all files agree."""
    if not arguments:
        print("usage: python -m tests.vectors PATH... (files or folders of vectors)", file=sys.stderr)
        return 2
    failed = False
    for path in runner.files([Path(a) for a in arguments]):
        family = runner.family_of(path)
        if family is None:
            print(f"{path.stem}: unknown family")
            failed = True
        elif not runner.is_built(family):
            print(f"{path.stem}: not built")
            failed = True
        else:
            result = runner.run(path, family)
            print(f"{path.stem}: {result.passed}/{result.total}")
            for difference in result.differences[:SHOWN]:
                print(f"  {difference}")
            failed = failed or result.passed < result.total
    return int(failed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
