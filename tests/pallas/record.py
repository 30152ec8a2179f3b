"""Runs the real Pallas kernels of cases_*.py and writes what they were given and what they gave.

    python3 tests/pallas/record.py            # every case
    python3 tests/pallas/record.py flash_ ge  # the cases whose names begin with one of these
"""
import importlib
import pathlib
import shutil
import sys
import time
import traceback

HERE = pathlib.Path(__file__).parent
sys.path.insert(0, str(HERE))

import harness


def main(prefixes):
    for file in sorted(HERE.glob("cases_*.py")):
        importlib.import_module(file.stem)

    def matches(name):
        return not prefixes or name.startswith(tuple(prefixes))

    chosen = [c for name, c in sorted(harness.cases.items()) if matches(name)]
    remove_stale(matches)
    failed, total = [], 0
    for n, c in enumerate(chosen, 1):
        start = time.time()
        try:
            size = harness.record(c)
        except Exception:
            traceback.print_exc()
            failed.append(c.name)
            continue
        total += size
        print(f"[{n}/{len(chosen)}] {c.name}: {size} bytes, {time.time() - start:.1f} s", flush=True)
    print(f"{len(chosen) - len(failed)} recorded, {total} bytes")
    if failed:
        sys.exit(f"{len(failed)} failed: {' '.join(failed)}")


def remove_stale(matches):
    """Records that no case makes any more."""
    if not harness.RECORDS.exists():
        return
    for folder in sorted(harness.RECORDS.iterdir()):
        if folder.is_dir() and matches(folder.name) and folder.name not in harness.cases:
            shutil.rmtree(folder)
            print(f"removed {folder.name}")


if __name__ == "__main__":
    main(sys.argv[1:])
