#!/usr/bin/env python3
"""Plants the mutants of mutants.txt: plant.py SOURCES FOLDER writes the files that they change, each
expression as `(IsPlanted("name") ? (new) : (old))`, and prints their names. `plant.py --check
SOURCES` only sees that each still finds its place."""
import pathlib
import sys
from dataclasses import dataclass

HERE = pathlib.Path(__file__).resolve().parent


@dataclass
class Edit:
    name: str
    file: str
    before: str  # around the expression
    old: str
    after: str
    new: str


def read_list(path=HERE / "mutants.txt"):
    lines = [line for line in path.read_text().splitlines()
             if line.strip() and not line.startswith("#")]
    if len(lines) % 4:
        sys.exit(f"{path}: every mutant has four lines")
    edits = []
    for at in range(0, len(lines), 4):
        name, file, text, new = lines[at], lines[at + 1].strip(), lines[at + 2], lines[at + 3]
        if name.startswith(" ") or not text.startswith("  - ") or not new.startswith("  + "):
            sys.exit(f"{path}: {name}: not a name, a file, `- text` and `+ expression`")
        text = text[4:].replace("\\n", "\n")
        begin, end = text.find("[["), text.rfind("]]")
        # `]]]` closes a subscript first.
        if begin < 0 or end < begin:
            sys.exit(f"{path}: {name}: no [[expression]]")
        edits.append(Edit(name, file, text[:begin], text[begin + 2:end], text[end + 2:], new[4:]))
    return edits


def plant(edits, text):
    """The text of one file with all its edits, which must not overlap."""
    places = []
    for edit in edits:
        whole = edit.before + edit.old + edit.after
        if text.count(whole) != 1:
            sys.exit(f"{edit.file}: {edit.name}: occurs {text.count(whole)} times: {whole}")
        begin = text.find(whole) + len(edit.before)
        places.append((begin, begin + len(edit.old), edit))
    places.sort(key=lambda place: place[:2], reverse=True)
    for (begin, _, edit), (_, end, former) in zip(places, places[1:]):
        if end > begin:
            sys.exit(f"{edit.file}: {edit.name} and {former.name} overlap")
    for begin, end, edit in places:
        planted = f'(::kiln::IsPlanted("{edit.name}") ? ({edit.new}) : ({edit.old}))'
        text = text[:begin] + planted + text[end:]
    return '#include "tests/mutants/planted.h"\n' + text


def main():
    check = sys.argv[1:2] == ["--check"]
    arguments = sys.argv[2:] if check else sys.argv[1:]
    sources = pathlib.Path(arguments[0])
    edits = read_list()
    names = list(dict.fromkeys(edit.name for edit in edits))
    for file in sorted({edit.file for edit in edits}):
        text = plant([edit for edit in edits if edit.file == file], (sources / file).read_text())
        if check:
            continue
        to = pathlib.Path(arguments[1]) / file
        to.parent.mkdir(parents=True, exist_ok=True)
        if not to.exists() or to.read_text() != text:
            to.write_text(text)
    if check:
        print(f"{len(names)} mutants find their places")
    else:
        print("\n".join(sorted({edit.file for edit in edits})))


if __name__ == "__main__":
    main()
