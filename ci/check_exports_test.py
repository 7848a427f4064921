# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/check_exports: small libraries, each wrong in one way, built with the C compiler."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
COMPILER = os.environ.get("CC", "cc")
QUERY = '__attribute__((visibility("default"))) const void *ops_provider_query(void) { %s }\n'


class CheckExportsTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def build(self, source, *flags, name="libx.so"):
        folder = pathlib.Path(self.folder.name)
        (folder / "x.c").write_text(source)
        library = folder / name
        subprocess.run(
            [COMPILER, "-shared", "-fPIC", "-fvisibility=hidden", "-w", "-o", library,
             folder / "x.c", *flags], check=True)
        return library

    def check(self, library, *arguments):
        return subprocess.run(
            [sys.executable, HERE / "check_exports", *arguments, library],
            capture_output=True, text=True, check=False)

    def refuse(self, result, text):
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn(text, result.stderr)

    def test_good(self):
        source = "#include <math.h>\n#include <stdlib.h>\n" + QUERY % (
            "double *p = malloc(8); *p = sin((double)(size_t)p); return p;")
        result = self.check(self.build(source, "-lm"))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_missing_export(self):
        self.refuse(self.check(self.build("int x;\n")), "does not export ops_provider_query")

    def test_extra_export(self):
        source = QUERY % "return 0;" + '__attribute__((visibility("default"))) int leaked;\n'
        self.refuse(self.check(self.build(source)), "leaked")

    def test_host_symbol(self):
        source = "const void *opsrt_log(void);\n" + QUERY % "return opsrt_log();"
        self.refuse(self.check(self.build(source)), "opsrt_log is undefined")

    def test_weak_host_symbol(self):
        source = ("const void *opsrt_log(void) __attribute__((weak));\n" +
                  QUERY % "return opsrt_log ? opsrt_log() : 0;")
        self.refuse(self.check(self.build(source)), "opsrt_log is undefined")

    def test_foreign_library(self):
        self.build("__attribute__((visibility(\"default\"))) int foreign(void) { return 1; }\n",
                   "-Wl,-soname,libforeign.so.1", name="libforeign.so.1")
        source = "int foreign(void);\n" + QUERY % "return foreign() ? 0 : \"\";"
        folder = self.folder.name
        library = self.build(source, f"{folder}/libforeign.so.1", f"-Wl,-rpath,{folder}")
        self.refuse(self.check(library), "needs libforeign.so.1")
        allowed = self.check(library, "--allow", "libforeign.so.*")
        self.assertEqual(allowed.returncode, 0, allowed.stderr)

    def test_constructor(self):
        source = QUERY % "return 0;" + "__attribute__((constructor)) static void early(void) {}\n"
        self.refuse(self.check(self.build(source)), "the constructor early")

    def test_destructor(self):
        source = QUERY % "return 0;" + "__attribute__((destructor)) static void late(void) {}\n"
        self.refuse(self.check(self.build(source)), "the destructor late")

    def test_stripped(self):
        result = self.check(self.build(QUERY % "return 0;", "-s"))
        self.assertEqual(result.returncode, 0, result.stderr)
        for kind in ("constructor", "destructor"):
            source = QUERY % "return 0;" + f"__attribute__(({kind})) static void f(void) {{}}\n"
            self.refuse(self.check(self.build(source, "-s")), f"is stripped and runs 2 {kind}s")

    def test_choosing_code_by_processor_is_allowed(self):
        source = QUERY % """
            #ifdef __x86_64__
            __builtin_cpu_init();
            if (__builtin_cpu_supports("sse2")) return "";
            #endif
            return 0;"""
        result = self.check(self.build(source))
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_not_a_library(self):
        path = pathlib.Path(self.folder.name) / "text.so"
        path.write_text("not a library\n")
        self.refuse(self.check(path), "cannot be read as a shared object")


if __name__ == "__main__":
    unittest.main()
