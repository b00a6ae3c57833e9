#!/usr/bin/env python3
"""The public structs and enumerations as a compiler lays them out, beside debian/*.layout, which promises them to programs that are built.

usage: check_layout.py COMPILER SOURCE_FOLDER [--write]

The list has a line for each struct with its size, each member with its offset and size, and each value of an enumeration. A member that
moves or changes its size, a struct that grows and a value that changes are faults: such programs read other memory than the library. What
is new is told, and is no fault. --write writes the list, for a release that may change the interface. It holds where pointers have 8 bytes.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

SKIP = 77  # as of the other scripts: not tested


def headers_of(root):
    """Structs and enumerations of the headers of the library, by the reader of the binding of Python."""
    sys.path.insert(0, str(root / "bindings/python"))
    sys.dont_write_bytecode = True
    import tables

    structs, enums, functions = {}, {}, {}
    reader = tables.Reader(structs, enums, functions)
    for name in tables.HEADERS:
        reader.read((root / f"include/carom/{name}.h").read_text())
    return structs, enums, tables.HEADERS


def program_of(structs, enums, headers):
    """A program that prints the list."""
    lines = [f"#include <carom/{name}.h>" for name in headers]
    lines += ["#include <stddef.h>", "#include <stdio.h>", "int main(void)", "{"]
    lines.append('\tif (sizeof(void *) != 8)\n\t\treturn %d;' % SKIP)
    for name in sorted(structs):
        lines.append(f'\tprintf("{name} %zu\\n", sizeof({name}));')
        for member in structs[name].members:
            place = f"offsetof({name}, {member.name}), sizeof((({name} *)NULL)->{member.name})"
            lines.append(f'\tprintf("{name}.{member.name} %zu %zu\\n", {place});')
    for name in sorted(enums):
        for value, _ in enums[name].values:
            lines.append(f'\tprintf("{value} %d\\n", (int){value});')
    return "\n".join(lines + ["\treturn 0;", "}", ""])


def layout_of(compiler, root):
    """Lines of the list, by their first word; None where pointers are of another size."""
    structs, enums, headers = headers_of(root)
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "layout.c"), Path(folder, "layout")
        source.write_text(program_of(structs, enums, headers))
        subprocess.run([compiler, "-std=c11", "-I", root / "include", source, "-o", program], check=True)
        done = subprocess.run([program], capture_output=True, text=True)
    if done.returncode == SKIP:
        return None
    if done.returncode != 0:
        sys.exit("check_layout.py: the program that prints the layout fails")
    return rows_of(done.stdout)


def rows_of(text):
    rows = {}
    for line in text.splitlines():
        name, _, numbers = line.partition(" ")
        if line.startswith("#"):
            continue
        if name in rows:
            sys.exit(f"check_layout.py: {name} stands twice in the list")
        rows[name] = numbers
    return rows


def compare(promised, found):
    """Faults, and names that are new."""
    faults = [f"{name} is gone" for name in promised if name not in found]
    faults += [f"{name} was {numbers}, and is {found[name]}" for name, numbers in promised.items() if found.get(name, numbers) != numbers]
    return faults, [name for name in found if name not in promised]


def main(compiler, folder, write):
    root = Path(folder)
    lists = sorted(root.glob("debian/*.layout"))
    found = layout_of(compiler, root)
    if found is None:
        print("pointers have not 8 bytes here")
        return SKIP
    if write:
        head = "# Sizes, offsets and values of the public interface, where pointers have 8 bytes (tests/check_layout.py --write).\n"
        Path(root, "debian/libcarom0.1.layout").write_text(head + "".join(f"{name} {numbers}\n" for name, numbers in found.items()))
        return 0
    promised = {}
    for each in lists:
        promised.update(rows_of(each.read_text()))
    if len(promised) < 500 or len(found) < 500:
        print(f"only {len(promised)} lines are promised, and {len(found)} found")
        return 1
    faults, new = compare(promised, found)
    for fault in faults:
        print(f"{fault}: programs that are built no longer fit")
    if new:
        print("new since the list was written (check_layout.py --write adds them):", *new)
    print(f"{len(promised)} promised places and values, {len(found)} found")
    return 1 if faults else 0


if __name__ == "__main__":
    arguments = [word for word in sys.argv[1:] if word != "--write"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    sys.exit(main(*arguments, len(arguments) < len(sys.argv) - 1))
