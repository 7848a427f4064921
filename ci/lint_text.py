# SPDX-License-Identifier: Apache-2.0
"""Checks on single files: licence line, tabs, placeholders, length, READMEs, cited ids, format."""
import re
import shutil
import subprocess

from lint_tree import Problem

LICENCE = "SPDX-License-Identifier: Apache-2.0"
LICENCE_LINES = 3
MAX_LINES = 800
README_LINES = 40
# Spelt in two halves, so that this file passes its own check.
PLACEHOLDER = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK"]) + r")\b")
CITATION = re.compile(r"\bSPEC ([A-Z][0-9]+)\b")
CLANG_FORMAT_NAMES = ["clang-format-14", "clang-format"]
CLANG_FORMAT_MAJOR = 14


def check_licence(sources):
    for source in sources:
        if source.is_source and not any(LICENCE in line for line in source.lines[:LICENCE_LINES]):
            yield Problem(source.path, 1, "licence", "no licence line",
                          f"put '{LICENCE}' into a comment of the first {LICENCE_LINES} lines")


def check_lines(sources):
    for source in sources:
        for number, line in enumerate(source.lines, 1):
            if "\t" in line:
                yield Problem(source.path, number, "tab", "a tab", "indent with spaces")
            match = PLACEHOLDER.search(line)
            if match:
                yield Problem(source.path, number, "placeholder",
                              f"'{match.group()}' marks unfinished work",
                              "finish it, or file an issue and take the mark out")


def check_length(sources):
    for source in sources:
        count = len(source.lines) - 1
        if source.is_source and not source.is_generated and count > MAX_LINES:
            yield Problem(source.path, count, "length", f"{count} lines, at most {MAX_LINES}",
                          "split it by idea")


def check_readmes(sources, folders):
    """Every folder with an include rule explains itself, shortly."""
    by_path = {source.path: source for source in sources}
    for folder in sorted(folders):
        has_code = any(source.is_c and source.path.startswith(folder + "/") for source in sources)
        if has_code and f"{folder}/README.md" not in by_path:
            yield Problem(folder, 1, "readme", "no README.md",
                          "say what the folder is, its public header, what may be changed")
    for path, source in by_path.items():
        count = len(source.lines) - 1
        if source.name == "README.md" and path != "README.md" and count > README_LINES:
            yield Problem(path, count, "readme", f"{count} lines, at most {README_LINES}",
                          "keep what a newcomer needs, move the rest to docs/")


def read_ids(text):
    return {line.split()[0] for line in text.split("\n") if line and not line.startswith("#")}


def check_citations(sources, ids):
    for source in sources:
        for number, line in enumerate(source.lines, 1):
            for cited in CITATION.findall(line):
                if cited not in ids:
                    yield Problem(source.path, number, "spec", f"there is no requirement {cited}",
                                  "cite an id of ci/spec_ids.txt")


def uncited(sources, ids):
    cited = {name for source in sources for name in CITATION.findall(source.text)}
    return sorted(ids - cited, key=lambda name: (name[0], int(name[1:])))


def find_clang_format():
    """The program, or None when there is none of the version whose output is the project's."""
    for name in CLANG_FORMAT_NAMES:
        path = shutil.which(name)
        if not path:
            continue
        version = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
        if re.search(rf"version {CLANG_FORMAT_MAJOR}\.", version.stdout):
            return path
    return None


def check_format(root, sources, clang_format):
    paths = [source.path for source in sources if source.is_c and not source.is_generated]
    if not paths:
        return
    result = subprocess.run([clang_format, "--style=file", "--dry-run", *paths], cwd=root,
                            capture_output=True, text=True, check=False)
    first = {}
    for path, number in re.findall(r"^(.+?):(\d+):\d+: \w+: code should be clang-formatted",
                                   result.stderr, re.M):
        first.setdefault(path, int(number))
    for path, number in first.items():
        yield Problem(path, number, "format", "not as clang-format writes it",
                      f"run clang-format-{CLANG_FORMAT_MAJOR} -i {path}")
    if result.returncode != 0:
        yield Problem(".clang-format", 1, "format", f"clang-format failed: {result.stderr.strip()}",
                      "repair its configuration")
