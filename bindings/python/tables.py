#!/usr/bin/env python3
"""Write the tables of the binding from the public headers: structs, enumerations, and comments.

usage: tables.py HEADER_FOLDER TABLES_H STUBS_IN STUBS

Each public struct becomes a list of members (name, offset, type, comment), each enumeration a list
of values, and each function's comment a macro for its docstring. The binding in src/ reads and
writes structs by these lists alone, so a member that is added to a header is there in Python after
the next build. A type that this script does not know ends it with an error.
"""

import re
import sys
from pathlib import Path

from member_words import words_of

HEADERS = """base math mesh geometry mesh_query shape spheres sweep results world query collide batch
record snapshot proximity vulkan grains""".split()

# C types of single values, and their kinds in src/binding.h.
SCALARS = {
    "bool": "BOOL", "int8_t": "I8", "uint8_t": "U8", "int": "I32", "int32_t": "I32", "uint32_t": "U32",
    "int64_t": "I64", "uint64_t": "U64", "size_t": "SIZE", "float": "F32", "double": "F64",
}
# Structs that are plain numbers in Python: tuples of floats, and an int for a body's id.
NUMBERS = {"carom_vec3": ("F64", 3), "carom_quat": ("F64", 4), "carom_body_id": ("ID", 1)}
# Structs that Python sees in another form: arrays, arguments, callbacks. Each has its table all the same.
INNER = """allocator strided batch elements ray_batch hit_batch placed_shape shape_cast shape_pair motion_pair
sphere_pairs sphere_neighbours sweep_hits sweep_crossings sweep_ways_apart sweep_candidates context_def version sphere_input mesh_def sweep_mesh_def
vulkan_handles grains_state grains_moment""".split()
# Values of structs that are made without a default function.
STARTS = {
    "pose": "carom_pose_identity()",
    "motion": "{ carom_pose_identity(), carom_pose_identity() }",
    "part": "{ .pose = carom_pose_identity() }",
    "ray": "{ .t_max = INFINITY }",
}


def fail(text):
    sys.exit(f"tables.py: {text}")


class Member:
    def __init__(self, name, type_name, pointer, count, comment):
        self.name, self.type, self.pointer, self.count, self.comment = name, type_name, pointer, count, comment


class Struct:
    def __init__(self, name, comment):
        self.name, self.comment, self.members = name, comment, []

    @property
    def short(self):
        return self.name[len("carom_"):]

    @property
    def exposed(self):
        return self.name not in NUMBERS and self.short not in INNER and not self.short.endswith("_view")


class Enumeration:
    def __init__(self, name, comment):
        self.name, self.comment, self.values = name, comment, []

    @property
    def short(self):
        return self.name[len("carom_"):]


def camel(short):
    return "".join(word.capitalize() for word in short.split("_"))


def split_comment(line):
    """The code of a line, its comment, and whether the comment belongs to what stands before it."""
    code, slashes, comment = line.partition("//")
    if not slashes:
        return code.strip(), None, False
    comment = comment.lstrip("/")
    return code.strip(), comment.lstrip("<").strip(), comment.startswith("<")


class Reader:
    """Reads one header, line by line."""

    def __init__(self, structs, enums, functions):
        self.structs, self.enums, self.functions = structs, enums, functions
        self.doc = []
        self.shared = False  # a function has taken the comment; one that follows at once shares it

    def read(self, text):
        lines = iter(text.splitlines())
        for line in lines:
            code, comment, _ = split_comment(line)
            if not code:
                earlier, self.shared = [] if self.shared else self.doc, self.shared and comment is None
                self.doc = earlier + [comment] if comment is not None and line.lstrip().startswith("///") else []
                continue
            opening = re.match(r"typedef (struct|enum) (carom_\w+) \{", code)
            if opening and opening[1] == "struct":
                self.read_struct(Struct(opening[2], " ".join(self.doc)), lines)
            elif opening:
                self.read_enum(Enumeration(opening[2], " ".join(self.doc)), code, lines)
            elif code.startswith("CAROM_API"):
                self.read_function(code)
                self.shared = True
                continue  # functions that follow without a comment of their own share this one
            self.doc, self.shared = [], False

    def read_function(self, code):
        name = re.search(r"\b(carom_\w+)\(", code)
        if not name:
            fail(f"no name in {code!r}")
        self.functions[name[1]] = " ".join(self.doc)

    def read_struct(self, struct, lines):
        pending, statement, last = [], "", []
        for line in lines:
            code, comment, trails = split_comment(line)
            if code.startswith("}"):
                break
            if comment is not None and not code and not trails:
                pending.append(comment)
            statement += " " + code
            if ";" in code:
                last = self.declare(struct, statement.strip().rstrip(";"), " ".join(pending))
                pending, statement = [], ""
            if comment is not None and (trails or code):
                for member in last:
                    member.comment = f"{member.comment} {comment}".strip()
        self.structs[struct.name] = struct

    def declare(self, struct, statement, comment):
        """The members that one statement declares."""
        callback = re.search(r"\(\*(\w+)\)", statement)
        if callback:
            made = [Member(callback[1], "callback", True, 1, comment)]
        else:
            words = re.match(r"(?:const )?(?:struct )?(\w+) (.*)", statement)
            made = []
            for declarator in words[2].split(","):
                part = re.fullmatch(r"\s*(\*?)\s*(\w+)((?:\[\w+\])*)\s*", declarator)
                if not part:
                    fail(f"{struct.name}: cannot read {statement!r}")
                sizes = re.findall(r"\[(\w+)\]", part[3])
                if len(sizes) > 1:
                    fail(f"{struct.name}.{part[2]}: more than one dimension")
                made.append(Member(part[2], words[1], bool(part[1]), sizes[0] if sizes else 1, comment))
        struct.members += made
        return made

    def read_enum(self, enum, first, lines):
        text, pending = first.partition("{")[2], []
        rows = [] if "}" in text else [text]
        if rows:
            for line in lines:
                rows.append(line)
                if line.startswith("}"):
                    break
        else:
            rows = [text.partition("}")[0]]
        for row in rows:
            code, comment, trails = split_comment(row)
            if comment is not None and not code and not trails:
                pending.append(comment)
            names = re.findall(r"\bCAROM_\w+", code)
            for name in names:
                enum.values.append([name, " ".join(pending)])
                pending = []
            if comment is not None and (trails or code) and enum.values:
                enum.values[-1][1] = f"{enum.values[-1][1]} {comment}".strip()
        self.enums[enum.name] = enum


def value_names(enum):
    """Names in Python: without the words that all have in common."""
    parts = [value[0].split("_") for value in enum.values]
    common = 1
    while all(len(part) > common + 1 and part[common] == parts[0][common] for part in parts) and len(parts) > 1:
        common += 1
    return ["_".join(part[common:]) for part in parts]


# Members that Python gives in another form: (struct, member).
SPECIAL = {
    ("body_def", "parts"): "PARTS", ("body_def", "centres"): "KEPT", ("body_def", "radii"): "KEPT",
    ("body_def", "part_count"): "OPAQUE", ("body_def", "sphere_count"): "OPAQUE",
    ("query_filter", "body_filter"): "FUNCTION", ("device_def", "choice"): "GIVEN_TEXT", ("device_def", "cache_path"): "GIVEN_TEXT",
}


# Arrays of which another member tells how many values there are: (struct, member).
COUNTED = {("manifold", "points"): "count"}


def limit_of(struct, member):
    counter = COUNTED.get((struct.short, member.name))
    return f"offsetof({struct.name}, {counter})" if counter else "0"


def kind_of(struct, member, enums, structs):
    """Kind, count, and number of the enumeration or struct."""
    if (struct.short, member.name) in SPECIAL:
        return SPECIAL[struct.short, member.name], 1, -1
    if member.pointer and member.type == "char":
        return "STATIC_TEXT", 1, -1
    if member.pointer and member.type == "carom_mesh":
        return "MESH", 1, -1
    if member.pointer and member.type == "carom_device":
        return "DEVICE", 1, -1
    if member.pointer or member.type.endswith("_fn") or member.name == "cookie":
        return "OPAQUE", 1, -1
    if member.type == "char":
        return "TEXT", member.count, -1
    if member.type in SCALARS:
        return SCALARS[member.type], member.count, -1
    if member.type in NUMBERS and member.count == 1:
        return *NUMBERS[member.type], -1
    if member.type in enums:
        return "ENUM", member.count, list(enums).index(member.type)
    if member.type in structs and not structs[member.type].exposed:
        return "OPAQUE", 1, -1
    if member.type in structs:
        return "STRUCT", member.count, list(structs).index(member.type)
    fail(f"member {member.name} has the unknown type {member.type}")


# Words about arguments that Python does not have, and what is said in their place.
PHRASES = [
    (r"\*found tells whether there is one; filter may be NULL\.", "None: there is none."),
    (r"\*found tells whether there is one(; the body of hit is null)?\.", "None: there is none."),
    (r" ?\*count is the number of \w+ there are; the first capacity of them are written\. \w+ may be NULL when capacity is 0\.", ""),
    (r" ?(count|first) and capacity (are )?as in \w+\.", ""),
    (r"\bbody is null\b", "body is 0"),
    (r"\bcarom_default_(\w+)\b", lambda match: f"{camel(match[1])}()"),
]


class Namer:
    """Names and phrases of C in comments become those of Python."""

    def __init__(self, structs, enums):
        self.map = {name: camel(struct.short) for name, struct in structs.items() if struct.exposed}
        self.map.update({name: camel(enum.short) for name, enum in enums.items()})
        for enum in enums.values():
            for (c_name, _), name in zip(enum.values, value_names(enum)):
                self.map[c_name] = f"{camel(enum.short)}.{name}"
        self.map["NULL"] = "None"

    def rename(self, text):
        for phrase, said in PHRASES:
            text = re.sub(phrase, said, text)
        return re.sub(r"\b\w+\b", lambda word: self.map.get(word[0], word[0]), text)


def first_sentence(text):
    return text.partition(". ")[0].rstrip(".") + "." if text else ""


def add_words(structs, enums):
    """Give each member without a comment the words for it."""
    for struct in structs.values():
        for member in struct.members:
            type_comment = ""
            for known in (enums, structs):
                if member.type in known and not member.pointer:
                    type_comment = f"{camel(known[member.type].short)}: {first_sentence(known[member.type].comment)}"
            if not member.comment:
                member.comment = words_of(struct.short, member.name, type_comment)


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def write_tables(structs, enums, functions, out):
    namer = Namer(structs, enums)
    put = lambda line="": print(line, file=out)
    put("// Made by bindings/python/tables.py from include/carom. Do not edit.")
    for function, comment in functions.items():
        put(f"#define DOC_{function} {quoted(namer.rename(comment))}")
    put("enum {")
    for struct in structs.values():
        put(f"\tCP_{struct.short},")
    put("\tCP_LAYOUT_COUNT\n};\nenum {")
    for enum in enums.values():
        put(f"\tCP_{enum.short},")
    put("\tCP_ENUM_COUNT\n};\n#ifdef CP_DEFINE_TABLES")
    for enum in enums.values():
        put(f"static const cp_value values_{enum.short}[] = {{")
        for (c_name, comment), name in zip(enum.values, value_names(enum)):
            put(f"\t{{ {quoted(name)}, {c_name}, {quoted(namer.rename(comment))} }},")
        put("};")
    put("const cp_enum cp_enums[CP_ENUM_COUNT] = {")
    for enum in enums.values():
        put(f"\t{{ {quoted(camel(enum.short))}, values_{enum.short}, {len(enum.values)}, "
            f"{quoted(namer.rename(enum.comment) or 'The enumeration ' + enum.name + '.')} }},")
    put("};")
    for struct in structs.values():
        write_struct(struct, structs, enums, functions, namer, put)
    put("const cp_layout cp_layouts[CP_LAYOUT_COUNT] = {")
    for struct in structs.values():
        exposed = "true" if struct.exposed else "false"
        defaults = "true" if f"carom_default_{struct.short}" in functions else "false"
        put(f"\t{{ {quoted(camel(struct.short))}, {quoted(struct.name)}, sizeof({struct.name}), members_{struct.short}, "
            f"{len(struct.members)}, getset_{struct.short}, start_{struct.short}, {exposed}, {defaults}, "
            f"{quoted(namer.rename(struct.comment) or 'The struct ' + struct.name + '.')} }},")
    put("};")
    write_words(structs, enums, namer, put)
    put("#endif")


# Constants that errors name, and what they are.
CONSTANTS = {"CAROM_MAX_COORDINATE": "1e+12", "CAROM_MAX_POSITION": "1e+12"}


def write_words(structs, enums, namer, put):
    """What the names of C in errors are in Python, sorted for a search by halves."""
    words = {**CONSTANTS, "NULL": "None"}
    for enum in enums.values():
        words.update({c_name: namer.map[c_name] for c_name, _ in enum.values})
    put(f"const cp_word cp_words[] = {{")
    for c_name in sorted(words):
        put(f"\t{{ {quoted(c_name)}, {quoted(words[c_name])} }},")
    put(f"}};\nconst int cp_word_count = {len(words)};")


def write_struct(struct, structs, enums, functions, namer, put):
    put(f"static const cp_member members_{struct.short}[] = {{")
    kinds = [kind_of(struct, member, enums, structs) for member in struct.members]
    for member, (kind, count, link) in zip(struct.members, kinds):
        put(f"\t{{ {quoted(member.name)}, offsetof({struct.name}, {member.name}), CP_{kind}, {count}, {link}, {limit_of(struct, member)}, "
            f"{quoted(camel(struct.short) + '.' + member.name)}, {quoted(namer.rename(member.comment))} }},")
    put("};")
    put(f"static PyGetSetDef getset_{struct.short}[] = {{")
    for i, (member, (kind, _, _)) in enumerate(zip(struct.members, kinds)):
        if kind != "OPAQUE":
            put(f"\t{{ {quoted(member.name)}, cp_get_attribute, NULL, "
                f"{quoted(namer.rename(member.comment))}, (void *)&members_{struct.short}[{i}] }},")
    put("\t{ NULL, NULL, NULL, NULL, NULL },\n};")
    start = f"carom_default_{struct.short}()" if f"carom_default_{struct.short}" in functions else STARTS.get(struct.short)
    put(f"static void start_{struct.short}(void *data)\n{{")
    if start and start.startswith("{"):
        put(f"\t*({struct.name} *)data = ({struct.name}){start};")
    elif start:
        put(f"\t*({struct.name} *)data = {start};")
    else:
        put(f"\tmemset(data, 0, sizeof({struct.name}));")
    put("}")


# ---- Stubs ----

HINTS = {"BOOL": "bool", "F32": "float", "F64": "float", "TEXT": "str", "STATIC_TEXT": "str | None", "MESH": "Mesh | None",
         "PARTS": "tuple[Part, ...]", "KEPT": "Any", "GIVEN_TEXT": "str | None", "DEVICE": "Device | None",
         "FUNCTION": "Callable[[int, int, int], object] | None"}


def hint(kind, count, link, structs, enums):
    if kind == "ENUM":
        one = camel(list(enums.values())[link].short)
    elif kind == "STRUCT":
        one = camel(list(structs.values())[link].short)
    else:
        one = HINTS.get(kind, "int")
    if kind in ("TEXT", "STATIC_TEXT", "MESH", "PARTS", "KEPT", "GIVEN_TEXT", "DEVICE", "FUNCTION") or count == 1:
        return one
    return f"tuple[{one}, ...]"


# What a member is set to, where that is more than the value it gives back.
GIVEN = {"TEXT": "Any", "STATIC_TEXT": "Any", "PARTS": "Sequence[Part | tuple[_ShapeLike, _PoseLike]]", "KEPT": "_ArrayLike | None",
         "GIVEN_TEXT": "str | PathLike[str] | None", "ID": "int | None"}
GIVEN_STRUCTS = {"Pose": "_PoseLike", "Shape": "_ShapeLike"}


def given_hint(kind, count, link, structs, enums):
    """The type of an argument that sets a member."""
    if kind == "ENUM":
        one = camel(list(enums.values())[link].short) + " | int | str"
    elif kind == "STRUCT":
        name = camel(list(structs.values())[link].short)
        one = GIVEN_STRUCTS.get(name, name)
    else:
        one = GIVEN.get(kind, HINTS.get(kind, "int"))
    if count == 1 or kind == "TEXT":
        return one
    return "_Vec3" if kind == "F64" else f"Sequence[{one}]"


def column_hint(kind, count, link, structs, enums):
    """The type of a column of an array of records; None: there is none."""
    if kind == "STRUCT":
        one = camel(list(structs.values())[link].short)
    elif kind in ("OPAQUE", "TEXT", "STATIC_TEXT", "MESH", "PARTS", "KEPT", "GIVEN_TEXT", "DEVICE", "FUNCTION"):
        return None
    else:
        one = {"BOOL": "bool", "F32": "float", "F64": "float"}.get(kind, "int")
    return f"Array[{one}]" if count == 1 else f"Array[Array[{one}]]"


def columns_of(struct, structs, enums):
    """The columns of an array of these records, by their type."""
    columns = {}
    for member in struct.members:
        column = column_hint(*kind_of(struct, member, enums, structs), structs, enums)
        if column:
            columns.setdefault(column, []).append(member.name)
    return columns


def array_elements(text, structs):
    """The structs that arrays of the template hold, and those within them."""
    found = [struct for struct in structs.values() if struct.exposed and f"Array[{camel(struct.short)}]" in text]
    for struct in found:
        for member in struct.members:
            inner = structs.get(member.type)
            if inner and inner.exposed and not member.pointer and inner not in found:
                found.append(inner)
    return found


def array_overloads(text, structs, enums):
    """Lines of Array.__getitem__ that tell the type of each column."""
    lines = []
    for struct in array_elements(text, structs):
        for column, names in columns_of(struct, structs, enums).items():
            keys = ", ".join(quoted(name) for name in names)
            lines.append(f"    @overload\n    def __getitem__(self: Array[{camel(struct.short)}], key: Literal[{keys}], /) -> {column}: ...")
    return "\n".join(lines)


def settings_of(struct, structs, enums):
    """The members of a struct as arguments."""
    arguments = []
    for member in struct.members:
        kind, count, link = kind_of(struct, member, enums, structs)
        if kind != "OPAQUE":
            arguments.append(f"{member.name}: {given_hint(kind, count, link, structs, enums)} = ...")
    return arguments


def fill_template(text, structs, enums):
    """Put the members of a struct where the template has <Struct>, and the columns where it has # <columns>."""
    named = {camel(struct.short): struct for struct in structs.values()}
    text = text.replace("    # <columns>", array_overloads(text, structs, enums))
    return re.sub(r"<([A-Z]\w+)>", lambda name: ", ".join(settings_of(named[name[1]], structs, enums)), text)


def write_stubs(structs, enums, out):
    """The part of carom/_carom.pyi that the headers tell: enumerations and records."""
    put = lambda line="": print(line, file=out)
    put()
    for enum in enums.values():
        put(f"class {camel(enum.short)}(IntEnum):")
        for i, name in enumerate(value_names(enum)):
            put(f"    {name} = {i}")
        put()
    for struct in structs.values():
        if not struct.exposed:
            continue
        settings = settings_of(struct, structs, enums)
        by_place = ", ".join(settings)
        if struct.short == "pose":  # one that is whole may come first
            by_place = by_place.replace("position: _Vec3", "position: _PoseLike")
        put(f"@final\nclass {camel(struct.short)}:")
        put(f"    def __new__(cls, {by_place}) -> Self: ...")
        put("    def __eq__(self, other: object, /) -> bool: ...")
        put(f"    def replace(self, *, {', '.join(settings)}) -> Self: ...")
        put("    def __reduce__(self) -> tuple[Any, ...]: ...")
        for member in struct.members:
            kind, count, link = kind_of(struct, member, enums, structs)
            if kind == "OPAQUE":
                continue
            get = hint(kind, count, link, structs, enums)
            put(f"    @property\n    def {member.name}(self) -> {get}: ...")
        put()


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    folder = Path(sys.argv[1])
    structs, enums, functions = {}, {}, {}
    reader = Reader(structs, enums, functions)
    for name in HEADERS:
        reader.read((folder / f"{name}.h").read_text())
    add_words(structs, enums)
    with open(sys.argv[2], "w", encoding="utf-8") as out:
        write_tables(structs, enums, functions, out)
    with open(sys.argv[4], "w", encoding="utf-8") as out:
        out.write(fill_template(Path(sys.argv[3]).read_text(encoding="utf-8"), structs, enums))
        write_stubs(structs, enums, out)


if __name__ == "__main__":
    main()
