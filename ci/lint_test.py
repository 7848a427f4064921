# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/lint: a small good tree passes, and each way to spoil it is found at its line."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
LICENCE = "// SPDX-License-Identifier: Apache-2.0\n"
README = "# A folder\n\nWhat it is.\n"

GOOD = {
    ".clang-format": (HERE.parent / ".clang-format").read_text(encoding="utf-8"),
    "README.md": "# Top\n" + "line\n" * 60,
    "sdk/include/README.md": README,
    "sdk/include/ops/base.h": LICENCE + "#include <stdint.h>\n",
    "sdk/support/README.md": README,
    "sdk/support/ops_support/half.h": LICENCE + "#include <ops/base.h>\n",
    "reference_runtime/graph/README.md": README,
    "reference_runtime/graph/graph.h": LICENCE + "#include <ops/base.h>\n",
    "reference_runtime/graph/graph.c": LICENCE + '#include "graph/graph.h"\n\n#include <string.h>\n',
    "reference_runtime/graph/graph_test.c": LICENCE + '#include <cmocka.h>\n\n#include "graph/graph.h"\n',
    "reference_runtime/session/README.md": README,
    "reference_runtime/session/session.h": LICENCE + '#include "graph/graph.h"\n',
    "providers/reference/README.md": README,
    "providers/reference/tensor.h": LICENCE + "#include <ops/base.h>\n",
    "providers/reference/relu.c": LICENCE + '#include <math.h>\n\n#include "tensor.h"\n',
    "conformance/compare/README.md": README,
    "conformance/compare/ulp.h": LICENCE + "#include <ops/base.h>\n",
    "conformance/cli/README.md": README,
    "conformance/cli/options.h": LICENCE,
    "conformance/cli/main.c": LICENCE + '#include "cli/options.h"\n',
    "reference_runtime/cli/README.md": README,
    "ci/tool.py": "#!/usr/bin/env python3\n# SPDX-License-Identifier: Apache-2.0\nprint()\n",
    "build/junk.c": "\tint no_licence;\n",
}

MARK = "TO" + "DO"
MANY = "".join(f"int v{i};\n" for i in range(800))

# (what is wrong, path, its contents, line and rule of the finding). A second finding may be listed.
BAD = [
    ("a stage that includes a later one", "reference_runtime/graph/late.c",
     LICENCE + '#include "session/session.h"\n', "late.c:2: [include]"),
    ("the oracle with a shared helper", "providers/reference/half.c",
     LICENCE + "#include <ops_support/half.h>\n", "half.c:2: [include]"),
    ("the judge with a shared helper", "conformance/compare/half.c",
     LICENCE + "#include <ops_support/half.h>\n", "half.c:2: [include]"),
    ("the harness with an inner header of the runtime", "conformance/compare/inner.c",
     LICENCE + '#include "../../reference_runtime/graph/graph.h"\n', "inner.c:2: [include]"),
    ("a system header in the ABI", "sdk/include/ops/io.h",
     LICENCE + "#include <stdio.h>\n", "io.h:2: [include]"),
    ("protobuf outside model", "reference_runtime/graph/proto.c",
     LICENCE + "#include <protobuf-c/protobuf-c.h>\n", "proto.c:2: [include]"),
    ("test headers in a plain source", "reference_runtime/graph/mock.c",
     LICENCE + "#include <cmocka.h>\n", "mock.c:2: [include]"),
    ("a header that does not exist", "reference_runtime/graph/gone.c",
     LICENCE + '#include "graph/gone.h"\n', "gone.c:2: [include]"),
    ("one name for two files", "reference_runtime/cli/options.h",
     LICENCE, "conformance/cli/main.c:2: [include]"),
    ("a folder without a rule", "stray/stray.c", LICENCE + "int x;\n", "stray.c:1: [include]"),
    ("no licence line in C", "sdk/include/ops/bare.h", "#include <stdint.h>\n", "bare.h:1: [licence]"),
    ("no licence line in a script", "ci/bare", "#!/bin/sh\ntrue\n", "bare:1: [licence]"),
    ("a tab", "ci/tab.py", "# " + LICENCE + "if 1:\n\tpass\n", "tab.py:3: [tab]"),
    ("a placeholder", "ci/later.py", "# " + LICENCE + f"# {MARK}: later\n", "later.py:2: [placeholder]"),
    ("a file too long", "sdk/include/ops/long.h", LICENCE + MANY, "long.h:801: [length]"),
    ("a folder without README", "sdk/loader/loader.h", LICENCE, "sdk/loader:1: [readme]"),
    ("a README too long", "sdk/include/README.md", "line\n" * 41, "README.md:41: [readme]"),
    ("an unknown requirement", "ci/cite.py", "# " + LICENCE + "# SPEC " + "Z9\n", "cite.py:2: [spec]"),
    ("bad format", "sdk/include/ops/ugly.h", LICENCE + "int   x ;\n", "ugly.h:2: [format]"),
]


class LintTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        for path, text in GOOD.items():
            self.write(path, text)

    def write(self, path, text):
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def lint(self):
        return subprocess.run([sys.executable, HERE / "lint", "--root", self.root],
                              capture_output=True, text=True, check=False)

    def test_good_tree(self):
        result = self.lint()
        self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

    def test_each_bad_file(self):
        for what, path, text, expected in BAD:
            with self.subTest(what):
                before = GOOD.get(path)
                self.write(path, text)
                result = self.lint()
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertIn(expected, result.stdout)
                self.assertEqual(result.stdout.count("\n"), 1, result.stdout)
                if before is None:
                    (self.root / path).unlink()
                else:
                    self.write(path, before)

    def test_generated_may_be_long_and_unformatted(self):
        self.write("sdk/include/ops/table.h",
                   LICENCE + "// Generated by a script.\n" + MANY + "int   x ;\n")
        self.assertEqual(self.lint().returncode, 0)


if __name__ == "__main__":
    unittest.main()
