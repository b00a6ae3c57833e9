"""The public headers as a list of declarations with their comments, for the reference pages.

A comment of lines /// belongs to the declaration below it. A comment of lines // that stands alone after an empty line and begins with
---- is a heading, and the lines below it are text. A declaration without a comment of its own takes part in the one above it where no empty
line is between them, as the headers have it for pairs of calls and for views.
"""

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Entry:
    kind: str  # heading, function, struct, enum, type, macro
    name: str
    code: str
    comment: str
    line: int
    shared: bool = False  # the comment is that of the entry above
    members: list = field(default_factory=list)  # names of members or values, and whether a comment covers each


def strip(line):
    return re.sub(r"^///? ?", "", line.strip())


def name_of(code):
    """What a declaration declares: (kind, name)."""
    flat = re.sub(r"\s+", " ", re.sub(r"//[^\n]*", "", code)).strip()
    if found := re.match(r"#define (\w+)", flat):
        return "macro", found[1]
    if found := re.match(r"typedef (struct|enum)\b.*[} ](\w+);$", flat):
        return found[1], found[2]
    if flat.startswith("typedef"):
        return "type", re.search(r"(\w+)\)?\(|(\w+);$", flat.removeprefix("typedef"))[1] or re.search(r"(\w+);$", flat)[1]
    return "function", re.search(r"(\w+)\(", flat)[1]


def read_declaration(lines, i):
    """The lines of the declaration that begins at line i, and the number of the line after it."""
    begin, depth = i, 0
    while i < len(lines):
        code = re.sub(r"//.*", "", lines[i])
        depth += code.count("{") - code.count("}")
        i += 1
        if lines[begin].startswith("#"):
            if not code.rstrip().endswith("\\"):
                break
        elif depth == 0 and (code.rstrip().endswith(";") or code.rstrip() == "}"):
            break
    text = lines[begin:i]
    if text[0].startswith("static inline"):  # the body is no part of the interface
        text = "\n".join(text).split("\n{")[0].split("\n") + []
        text[-1] += ";"
    return "\n".join(text), i


def members_of(code):
    """Names of members and values with whether a comment covers them: their own, or that of a run of lines without an empty one."""
    found, covered, depth = [], False, 0
    for line in code.split("\n")[0 if "{" in code.split("\n")[0] and "}" in code.split("\n")[0] else 1:]:
        bare = re.sub(r"//.*", "", line).strip()
        if not line.strip():
            covered = False
        if line.strip().startswith("///"):
            covered = True
        if bare and not bare.startswith("}"):
            own = "///<" in line
            names = re.findall(r"[*(]?\b(\w+)(?:\[[^]]*\])*(?:\)\([^)]*\))?\s*(?:=[^,;]*)?[,;}]", bare + ",")
            found += [(name, own or covered) for name in names if not name.isdigit()]
            covered = covered or own
    return found


def read_header(path):
    """(comment of the file, entries)."""
    lines = path.read_text().split("\n")
    entries, comment, about, i = [], [], None, 0
    near = False  # the line before ended a declaration: no empty line since
    while i < len(lines):
        line = lines[i]
        if line.startswith("///"):
            comment.append(strip(line))
        elif line.startswith("//") and (found := re.match(r"// -+ (.*?) -+$", line)):
            text = []
            while i + 1 < len(lines) and lines[i + 1].startswith("//") and not lines[i + 1].startswith("///"):
                i += 1
                text.append(strip(lines[i]))
            entries.append(Entry("heading", found[1], "", "\n".join(text).strip(), i + 1))
        elif line.startswith("#ifndef") and about is None:
            about, comment = "\n".join(comment), []
        elif re.match(r"CAROM_API |static inline |typedef |#define CAROM_(?!API|\w+_H$)", line):
            code, after = read_declaration(lines, i)
            code = code.replace("CAROM_API ", "")
            kind, name = name_of(code)
            shared = not comment and near
            entries.append(Entry(kind, name, code, "\n".join(comment), i + 1, shared, members_of(code) if kind in ("struct", "enum") and "{" in code else []))
            comment, near, i = [], True, after
            continue
        elif not line.strip():
            comment, near = [], False
        i += 1
    return about or "", entries


def faults(path):
    """Declarations that no comment is about, as messages with their lines."""
    about, entries = read_header(path)
    if not about:
        yield f"{path}: the header itself has no comment"
    for entry in entries:
        if entry.kind != "heading" and not entry.comment and not entry.shared:
            yield f"{path}:{entry.line}: {entry.name} has no comment"


if __name__ == "__main__":
    found = [fault for header in sorted(Path(sys.argv[1]).glob("*.h")) for fault in faults(header)]
    sys.exit("\n".join(found) if found else 0)
