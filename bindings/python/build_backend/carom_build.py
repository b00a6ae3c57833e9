"""Builds the Python package for `pip install .` and `pip wheel .`: a backend as PEP 517 wants it, on CMake and the standard library alone.

A wheel is a zip archive of what `cmake --install --component python` puts into a folder, with METADATA, WHEEL and RECORD. One wheel
serves all versions of CPython from 3.11 on. It is without carom.sim, which needs ODE and HDF5 of the system, unless the arguments ask for
the command (-DCAROM_BUILD_TOOLS=ON). Further arguments of CMake are in CMAKE_ARGS, or given by pip:
--config-settings=cmake-args="-DCAROM_VULKAN=OFF". As a program, it makes a wheel of a folder that is built already:

    python carom_build.py FOLDER_OF_THE_PACKAGE OUT
"""

import base64
import calendar
import gzip
import hashlib
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
# What a source archive holds: enough to build the package.
SOURCES = ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "pyproject.toml", "bindings/foreign_absent.c",
           "bindings/foreign_absent.h", "bindings/python", "cmake", "include", "io", "plugins", "sim/base", "sim/shapes", "src")
LEFT_OUT = ("bindings/python/examples", "bindings/python/tests")
OPTIONS = {
    "CMAKE_BUILD_TYPE": "Release", "CAROM_PYTHON": "ON", "BUILD_SHARED_LIBS": "OFF", "CAROM_BUILD_TOOLS": "OFF", "CAROM_BUILD_SIM": "OFF",
    "CAROM_BUILD_TESTS": "OFF", "CAROM_BUILD_BENCH": "OFF", "CAROM_PYTHON_INSTALL_DIR": ".",
}


# ---- What the package says of itself ----


def version():
    header = (ROOT / "include/carom/base.h").read_text()
    return ".".join(re.search(rf"^#define CAROM_VERSION_{part} (\d+)$", header, re.M)[1] for part in ("MAJOR", "MINOR", "PATCH"))


def metadata():
    """METADATA (PKG-INFO) from pyproject.toml; README.md is the description."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lines = [
        "Metadata-Version: 2.1", f"Name: {project['name']}", f"Version: {version()}", f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}", *(f"Classifier: {text}" for text in project["classifiers"]),
        "License-File: LICENSE", "Description-Content-Type: text/markdown",
    ]
    return "\n".join(lines) + "\n\n" + (ROOT / "README.md").read_text()


def needed_glibc(module):
    """The newest version of the C library that the module asks for, by the names of versions in it; (2, 17) at least, as wheels have it."""
    found = re.findall(rb"GLIBC_(\d+)\.(\d+)", module.read_bytes())
    return max([(2, 17), *((int(major), int(minor)) for major, minor in found)])


def tag(modules):
    """cp311-abi3-PLATFORM. On Linux the platform names the oldest C library that will do."""
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if platform.startswith("linux_"):
        platform = "manylinux_{}_{}_".format(*max(map(needed_glibc, modules))) + platform.removeprefix("linux_")
    return f"cp311-abi3-{platform}"


# ---- Archives ----


def moment():
    """The time of all members: a given one, else 1980, so that equal files make equal archives."""
    return time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH", 315532800)), 315532800))


def pack_wheel(package, out):
    """Write the wheel of a folder `carom`; returns its name."""
    package, out = Path(package), Path(out)
    modules = [path for path in package.glob("_carom*") if path.suffix in (".so", ".pyd")]
    if len(modules) != 1:
        raise SystemExit(f"{package} holds {len(modules)} files _carom.abi3.so or _carom.pyd; it must hold one")
    modules += [path for path in package.glob("_sim*") if path.suffix in (".so", ".pyd")]
    stem, info = f"carom-{version()}", f"carom-{version()}.dist-info"
    name = f"{stem}-{tag(modules)}.whl"
    files = {f"carom/{path.relative_to(package).as_posix()}": path.read_bytes()
             for path in sorted(package.rglob("*")) if path.is_file() and "__pycache__" not in path.parts}
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/METADATA"] = metadata().encode()
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: carom_build\nRoot-Is-Purelib: false\nTag: {tag(modules)}\n".encode()
    record = "".join(
        f"{path},sha256={base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()},{len(data)}\n"
        for path, data in files.items())
    files[f"{info}/RECORD"] = (record + f"{info}/RECORD,,\n").encode()
    out.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(out / name, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for path, data in files.items():
            member = zipfile.ZipInfo(path, moment()[:6])
            member.external_attr = (0o755 if path.endswith((".so", ".pyd")) else 0o644) << 16
            member.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(member, data)
    return name


def source_files():
    for source in SOURCES:
        path = ROOT / source
        for file in sorted(path.rglob("*")) if path.is_dir() else [path]:
            name = file.relative_to(ROOT).as_posix()
            if file.is_file() and "__pycache__" not in file.parts and not name.startswith(LEFT_OUT):
                yield name, file


# ---- The calls of PEP 517 ----


def get_requires_for_build_wheel(config_settings=None):
    """CMake and Ninja from the index of packages, where the system has none."""
    return [name for name, program in (("cmake>=3.21", "cmake"), ("ninja", "ninja")) if not shutil.which(program)]


def get_requires_for_build_sdist(config_settings=None):
    return []


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    arguments = [f"-D{name}={value}" for name, value in OPTIONS.items()]
    arguments += shlex.split(os.environ.get("CMAKE_ARGS", ""))
    arguments += shlex.split((config_settings or {}).get("cmake-args", ""))
    with tempfile.TemporaryDirectory(prefix="carom-wheel-") as folder:
        build, prefix = f"{folder}/build", Path(folder, "prefix")
        for command in (
            ["cmake", "-S", str(ROOT), "-B", build, "-G", "Ninja", f"-DPython3_EXECUTABLE={sys.executable}", *arguments],
            ["cmake", "--build", build, "--target", "carom_python", "carom_python_files"],
            ["cmake", "--install", build, "--prefix", str(prefix), "--component", "python", "--strip"],
        ):
            subprocess.run(command, check=True)
        return pack_wheel(prefix / "carom", wheel_directory)


def build_sdist(sdist_directory, config_settings=None):
    stem = f"carom-{version()}"
    Path(sdist_directory).mkdir(parents=True, exist_ok=True)
    with open(Path(sdist_directory, f"{stem}.tar.gz"), "wb") as file, gzip.GzipFile("", "wb", 9, file, 0) as packed, \
            tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        texts = [("PKG-INFO", metadata().encode(), 0o644)]
        for name, data, mode in [*texts, *((name, path.read_bytes(), path.stat().st_mode & 0o755) for name, path in source_files())]:
            member = tarfile.TarInfo(f"{stem}/{name}")
            member.size, member.mode, member.mtime = len(data), mode, calendar.timegm(moment())
            archive.addfile(member, io.BytesIO(data))
    return f"{stem}.tar.gz"


if __name__ == "__main__":
    print(pack_wheel(sys.argv[1], sys.argv[2]))
