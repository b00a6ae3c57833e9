"""The Python blocks of docs/guide/python.md run, and print what the page shows; so do the examples."""

import contextlib
import doctest
import io
import runpy
import sys
import unittest
import unittest.mock

import carom
from support import SOURCE, has_sim, numpy


def blocks(path, language):
    """The blocks of a page in this language, at their lines."""
    text, inside = "", False
    for line in path.read_text(encoding="utf-8").splitlines():
        fence = line.startswith("```")
        if fence:
            inside = not inside and line == "```" + language
        text += line + "\n" if inside and not fence else "\n" if language == "python" else ""
    return text


class Guide(unittest.TestCase):
    @unittest.skipUnless(has_sim, "carom.sim is not built")
    def test_the_page_prints_what_it_shows(self):
        page = SOURCE / "docs/guide/python.md"
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile(blocks(page, "python"), str(page), "exec"), {"__name__": "page"})
        self.assertEqual(output.getvalue(), blocks(page, "text"))

    def test_the_help_of_the_package_is_true(self):
        results = doctest.testmod(carom)
        self.assertGreater(results.attempted, 4)
        self.assertEqual(results.failed, 0)

    def test_everything_has_a_help_text(self):
        for name in dir(carom):
            thing = getattr(carom, name)
            if name.startswith("_") or not isinstance(thing, type):
                continue
            self.assertTrue(thing.__doc__, name)
            for attribute in vars(thing):
                member = vars(thing)[attribute]
                if not attribute.startswith("_") and type(member).__name__ in ("method_descriptor", "classmethod_descriptor"):
                    self.assertTrue(member.__doc__, f"{name}.{attribute}")
                if type(member).__name__ == "getset_descriptor":
                    self.assertTrue(member.__doc__, f"{name}.{attribute}")

    def test_values_and_results_have_words_of_their_own(self):
        self.assertIn("never with static or other kinematic bodies", carom.BodyKind.KINEMATIC.__doc__)
        self.assertIn("STATIC: Does not move by itself.", carom.BodyKind.__doc__)
        self.assertTrue(carom.World.events.__doc__.startswith("One event for each pair"))
        self.assertTrue(carom.World.pairs.__doc__.startswith("Pairs sorted by"))
        self.assertTrue(carom.Toi.__doc__.startswith("The answer of"))

    def test_errors_have_names_of_python(self):
        world = carom.World()
        with self.assertRaisesRegex(carom.InvalidArgument, "kind is BodyKind.DYNAMIC, but a plane must be static"):
            world.add_body(shape=carom.Shape(type="plane"))
        with self.assertRaisesRegex(carom.InvalidArgument, "shape.mesh is None$") as caught:
            world.add_body(shape=carom.Shape(type="mesh"))
        self.assertEqual(caught.exception.field, "shape.mesh")
        with self.assertRaisesRegex(carom.Error, "ShapeType.MESH, which need not be convex"):
            mesh = carom.Mesh([(0, 0, 0), (1, 0, 0), (0, 1, 0)], [(0, 1, 2)])
            carom.collide_convex(mesh, mesh)


class Examples(unittest.TestCase):
    """Each example runs with a small task and ends well."""


def add_example(path):
    def run(self):
        if "import numpy" in path.read_text() and not numpy:
            self.skipTest("NumPy is not installed")
        if "import carom.sim" in path.read_text() and not has_sim:
            self.skipTest("carom.sim is not built")
        output = io.StringIO()
        with contextlib.redirect_stdout(output), unittest.mock.patch.object(sys, "argv", [str(path)]):
            runpy.run_path(str(path), run_name="__main__")
        self.assertTrue(output.getvalue().strip())

    setattr(Examples, f"test_{path.stem}", run)


sys.path.append(str(SOURCE / "bindings/python/examples"))
for example in sorted((SOURCE / "bindings/python/examples").glob("*.py")):
    if example.stem != "shapes":  # which the others share
        add_example(example)
