#!/usr/bin/env python3
"""The recipes of packages say what the tree says: versions, options of CMake, files. Conan and vcpkg are not needed: conanfile.py runs on
stand-ins for the modules of Conan, the port of vcpkg by cmake -P on stand-ins for its functions. Usage: check_recipes.py CMAKE ROOT"""

import json
import re
import subprocess
import sys
import tempfile
import tomllib
import types
from pathlib import Path

cmake, root = sys.argv[1], Path(sys.argv[2]).resolve()
faults = []


def check(sound, text):
    if not sound:
        faults.append(text)


header = (root / "include/carom/base.h").read_text()
version = ".".join(re.search(rf"^#define CAROM_VERSION_{part} (\d+)$", header, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH"))
cmake_texts = [path.read_text() for path in [root / "CMakeLists.txt", *root.glob("cmake/*.cmake"), *root.glob("*/CMakeLists.txt"),
                                              *root.glob("bindings/*/CMakeLists.txt")]]
known = {name for text in cmake_texts for name in re.findall(r"(?:option|set|find_program|find_path)\((CAROM_\w+)", text)}


def check_options(file, names):
    check(names, f"{file} sets no option of CMake")
    for name in names:
        check(name in known, f"{file} sets {name}, which CMakeLists.txt does not know")


def named_options(file):
    return re.findall(r"(?:-D|\b)(CAROM_(?!VERSION_|SHARED\b)[A-Z_]+)\b", (root / file).read_text())


# ---- vcpkg: the port runs, and configures what it names ----

port = json.loads((root / "packaging/vcpkg/carom/vcpkg.json").read_text())
check(port["version"] == version, f"vcpkg.json is of version {port['version']}, the tree of {version}")
STAND_INS = """
cmake_minimum_required(VERSION 3.21)
set(PORT carom)
set(FEATURES core vulkan)
set(CURRENT_PACKAGES_DIR "{work}/packages")
set(CURRENT_HOST_INSTALLED_DIR "{work}/host")
function(vcpkg_check_features)
	cmake_parse_arguments(a "" "OUT_FEATURE_OPTIONS" "FEATURES" ${{ARGN}})
	list(POP_BACK a_FEATURES option)
	set(${{a_OUT_FEATURE_OPTIONS}} -D${{option}}=ON PARENT_SCOPE)
endfunction()
function(vcpkg_cmake_configure)
	cmake_parse_arguments(a "" "SOURCE_PATH" "OPTIONS" ${{ARGN}})
	message(STATUS "source ${{a_SOURCE_PATH}}")
	message(STATUS "options ${{a_OPTIONS}}")
endfunction()
foreach(name vcpkg_cmake_install vcpkg_fixup_pkgconfig vcpkg_copy_pdbs)
	cmake_language(EVAL CODE "function(${{name}})\\nendfunction()")
endforeach()
function(vcpkg_cmake_config_fixup)
	message(STATUS "fixup ${{ARGN}}")
endfunction()
function(vcpkg_install_copyright)
	message(STATUS "licence ${{ARGN}}")
endfunction()
include("{port}")
"""
with tempfile.TemporaryDirectory() as work:
    script = Path(work, "port.cmake")
    script.write_text(STAND_INS.format(work=work, port=root / "packaging/vcpkg/carom/portfile.cmake"))
    ran = subprocess.run([cmake, "-P", script], capture_output=True, text=True)
    check(ran.returncode == 0, f"portfile.cmake: {ran.stderr}")
    said = dict(re.findall(r"^-- (\w+) (.*)$", ran.stdout, re.M))
    check(Path(said.get("source", "")).resolve() == root, f"portfile.cmake builds {said.get('source')}")
    check_options("portfile.cmake", re.findall(r"-D(\w+)=", said.get("options", "")))
    check("-DCAROM_VULKAN=ON" in said.get("options", ""), "portfile.cmake: the feature vulkan sets nothing")
    check(said.get("fixup") == "CONFIG_PATH;lib/cmake/carom", f"portfile.cmake: fixup {said.get('fixup')}")
    check(Path(said.get("licence", ";").split(";")[-1]).is_file(), "portfile.cmake: the licence that it names is not there")
    check(Path(work, "packages/share/carom/usage").is_file(), "portfile.cmake installs no usage")

# ---- Conan: each method runs ----

calls = []


class StandIn:
    """A module of Conan, a tool or a folder: whatever is asked of it, it answers, and it remembers the calls."""

    def __init__(self, *given):
        self.cache_variables = {}

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *given, **named: calls.append((name, given, named))


def note(name):
    return lambda *given, **named: calls.append((name, given, named))


toolchains = []


class Toolchain(StandIn):
    def __init__(self, *given):
        super().__init__()
        toolchains.append(self)


def run_recipe(file, **settings):
    for name, members in {"conan": {"ConanFile": object},
                          "conan.tools.cmake": {"CMake": StandIn, "CMakeDeps": StandIn, "CMakeToolchain": Toolchain, "cmake_layout": note("layout")},
                          "conan.tools.files": {"copy": note("copy"), "rm": note("rm"), "rmdir": note("rmdir")},
                          "conan.tools.build": {"can_run": lambda recipe: True}, "conan.tools": {}}.items():
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__dict__.update(members)
    space = {"__name__": "recipe"}
    exec(compile((root / file).read_text(), file, "exec"), space)
    recipe = next(value for value in space.values() if isinstance(value, type) and value.__module__ == "recipe")()
    recipe.recipe_folder = str((root / file).parent)
    recipe.export_sources_folder = recipe.source_folder = recipe.package_folder = "/nowhere"
    for name, value in settings.items():
        setattr(recipe, name, value)
    return recipe


recipe = run_recipe("packaging/conan/conanfile.py", options=types.SimpleNamespace(threads=True, shared=False),
                    settings=types.SimpleNamespace(os="Linux"), cpp_info=StandIn())
recipe.set_version()
check(recipe.version == version, f"conanfile.py is of version {recipe.version}")
recipe.export_sources()
for name, given, named in calls:
    if name == "copy":
        check(list(Path(named["src"]).glob(given[1])), f"conanfile.py exports {given[1]}, which is not there")
for method in ("layout", "generate", "build", "package", "package_info"):
    getattr(recipe, method)()
check_options("conanfile.py", list(toolchains[0].cache_variables))
check(recipe.cpp_info.libs == ["carom"] and recipe.cpp_info.system_libs == ["m", "pthread"], "conanfile.py: libraries")
tried = run_recipe("packaging/conan/test_package/conanfile.py", tested_reference_str="carom/1", requires=note("requires"), run=note("run"),
                   cpp=types.SimpleNamespace(build=types.SimpleNamespace(bindir="bin")))
for method in ("requirements", "layout", "build", "test"):
    getattr(tried, method)()
check(("requires", ("carom/1",), {}) in calls and any(name == "run" for name, _, _ in calls), "test_package/conanfile.py does nothing")
test_project = (root / "packaging/conan/test_package/CMakeLists.txt").read_text()
for file in re.findall(r"[\w./]+\.c\b", test_project):
    check((root / "packaging/conan/test_package" / file).is_file(), f"test_package names {file}, which is not there")

# ---- Debian and pip ----

check_options("debian/rules", named_options("debian/rules"))
check_options("carom_build.py", named_options("bindings/python/build_backend/carom_build.py"))
entry = (root / "debian/changelog").read_text().split("\n")[0]
check(entry.startswith(f"carom ({version}-"), f"debian/changelog begins with '{entry}'")
soname = "".join(re.findall(r"^lib\S+ (libcarom\S+) #MINVER#", (root / "debian/libcarom0.1.symbols").read_text(), re.M))
check(soname == "libcarom" + version.rsplit(".", 1)[0], f"debian: the package of the library is {soname}")
backend = tomllib.loads((root / "pyproject.toml").read_text())["build-system"]
check((root / backend["backend-path"][0] / f"{backend['build-backend']}.py").is_file(), "pyproject.toml names a backend that is not there")
for test in re.findall(r"^Tests: (\w+)$", (root / "debian/tests/control").read_text(), re.M):
    check((root / "debian/tests" / test).is_file(), f"debian/tests/control names {test}, which is not there")

print("\n".join(faults) or f"the recipes agree with the tree: version {version}, {len(known)} options")
sys.exit(1 if faults else 0)
