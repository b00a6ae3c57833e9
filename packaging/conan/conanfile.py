"""The library for Conan 2: conan create packaging/conan"""

import re
from pathlib import Path

from conan import ConanFile
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, rm, rmdir


class Carom(ConanFile):
    name = "carom"
    description = "Finds every collision between concave meshes, deforming meshes and millions of spheres"
    license = "MIT"
    topics = ("collision-detection", "physics", "geometry")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False], "threads": [True, False]}
    default_options = {"shared": False, "fPIC": True, "threads": True}
    implements = ["auto_shared_fpic"]
    languages = "C"

    @property
    def _root(self):
        return Path(self.recipe_folder).parents[1]

    def set_version(self):
        header = (self._root / "include/carom/base.h").read_text()
        self.version = ".".join(re.search(rf"#define CAROM_VERSION_{part} (\d+)", header)[1] for part in ("MAJOR", "MINOR", "PATCH"))

    def export_sources(self):
        for pattern in ("CMakeLists.txt", "LICENSE", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "cmake/*", "docs/*.md", "include/*",
                        "plugins/*", "src/*"):
            copy(self, pattern, src=str(self._root), dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["CAROM_THREADS"] = bool(self.options.threads)
        for name in ("CAROM_BUILD_TOOLS", "CAROM_BUILD_SIM", "CAROM_BUILD_TESTS", "CAROM_BUILD_BENCH", "CAROM_EMBREE", "CAROM_VULKAN"):
            toolchain.cache_variables[name] = False
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", src=self.source_folder, dst=str(Path(self.package_folder, "licenses")))
        CMake(self).install()
        rmdir(self, str(Path(self.package_folder, "lib", "cmake")))
        rmdir(self, str(Path(self.package_folder, "lib", "pkgconfig")))
        rmdir(self, str(Path(self.package_folder, "share")))
        rm(self, "*.pdb", self.package_folder, recursive=True)

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "carom")
        self.cpp_info.set_property("cmake_target_name", "carom::carom")
        self.cpp_info.set_property("pkg_config_name", "carom")
        self.cpp_info.libs = ["carom"]
        if self.options.shared:
            self.cpp_info.defines = ["CAROM_SHARED"]
        elif self.settings.os in ("Linux", "FreeBSD"):
            self.cpp_info.system_libs = ["m", "pthread"] if self.options.threads else ["m"]
