"""The tables of structs hold what the headers hold, read here by another way: by the C preprocessor."""

import re
import shutil
import subprocess
import unittest

import carom
from carom import _carom
from support import SOURCE


def public_structs():
    """Struct name and names of its members, from the headers without comments."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if not compiler:
        raise unittest.SkipTest("there is no C compiler")
    command = [compiler, "-E", "-P", "-x", "c", "-I", SOURCE / "include", "-include", "carom/carom.h", "/dev/null"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    structs = {}
    for name, body in re.findall(r"typedef struct carom_\w+ \{(.*?)\} (?=carom_)", text, re.S) and re.findall(
            r"typedef struct (carom_\w+) \{(.*?)\} carom_\w+;", text, re.S):
        members = []
        for statement in filter(None, (part.strip() for part in body.split(";"))):
            pointer = re.search(r"\(\*(\w+)\)", statement)
            if pointer:
                members.append(pointer[1])
                continue
            for declarator in statement.split(","):
                members.append(re.search(r"(\w+)\s*(?:\[[^]]*\]\s*)*$", declarator)[1])
        structs[name] = members
    return structs


class Tables(unittest.TestCase):
    def test_every_public_struct_and_member_is_in_the_tables(self):
        wanted = public_structs()
        self.assertGreater(len(wanted), 70)
        tables = {c_name: [member[0] for member in members] for _, c_name, _, members in _carom._tables()}
        self.assertEqual(sorted(tables), sorted(wanted))
        for name, members in wanted.items():
            self.assertEqual(tables[name], members, name)

    def test_members_lie_in_order_within_their_struct(self):
        for name, _, size, members in _carom._tables():
            offsets = [offset for _, offset, _, _ in members]
            self.assertEqual(offsets, sorted(set(offsets)), name)
            self.assertLess(offsets[-1], size, name)

    def test_every_function_of_the_headers_is_bound_or_named_here(self):
        """A function that is added to a header must be bound, or stand in this list with its reason."""
        functions = set()
        for header in (SOURCE / "include/carom").glob("*.h"):
            if header.name != "lab.h":
                functions |= set(re.findall(r"^CAROM_API [^;]*?\b(carom_\w+)\(", header.read_text(), re.M))
        sources = "".join(path.read_text() for path in (SOURCE / "bindings/python/src").glob("*.c"))
        tables = (SOURCE / "bindings/python/tables.py").read_text()
        left_out = {
            "carom_watch_recording",  # its world ends with the replay; a World of Python owns its own
            "carom_parallel_for",  # a loop over Python code would run on one thread at a time
            "carom_sphere_method_name",  # SphereMethod has the names
            "carom_device_tier_name",  # DeviceTier has the names
            "carom_world_context",  # World.context is the object that the world was made with
        }
        missing = {name for name in functions if not re.search(rf"\b{name}\b", sources) and name not in left_out}
        missing = {name for name in missing if not name.startswith("carom_default_")}  # called by the tables
        # Functions that a result list calls by a name that a macro makes.
        missing = {name for name in missing if not re.search(rf"LIST\({name[len('carom_world_'):-1]}\)", sources)}
        self.assertIn("carom_default_", tables)
        self.assertEqual(missing, set())


if __name__ == "__main__":
    unittest.main()
