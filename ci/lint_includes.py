# SPDX-License-Identifier: Apache-2.0
"""The include graph: parses ci/include_rules.txt and holds every #include against it."""
import fnmatch
import posixpath
import re

from lint_tree import Problem

RULE = "include"
ROOTS = ["sdk/include", "sdk/support", "sdk", "reference_runtime/include", "reference_runtime",
         "conformance"]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class RulesError(Exception):
    """The rules file itself is wrong."""


class Rules:
    def __init__(self, text):
        self.sets = {}
        self.folders = {}
        self.tests = {}
        for number, line in _logical_lines(text):
            self._take(number, line)

    def _take(self, number, line):
        head, colon, tail = line.partition(":")
        words = head.split()
        if not colon or not words:
            raise RulesError(f"line {number}: expected 'FOLDER: ENTRY…', found '{line}'")
        if words[0] == "set" and len(words) == 2:
            self.sets[words[1]] = tail.split()
        elif words[0] == "test" and len(words) == 2:
            self.tests[words[1]] = tail.split()
        elif len(words) == 1:
            self.folders[words[0]] = tail.split()
        else:
            raise RulesError(f"line {number}: expected one folder before ':', found '{head}'")
        for entry in tail.split():
            if entry.startswith("@") and entry[1:] not in self.sets:
                raise RulesError(f"line {number}: no set is called {entry}; define it above")

    def folder_of(self, path):
        """The longest folder with a rule that holds `path`, or None."""
        matches = [folder for folder in self.folders if path.startswith(folder + "/")]
        return max(matches, key=len, default=None)

    def entries_for(self, source, folder):
        entries = [folder] + self.folders[folder]
        if source.is_test:
            for prefix, more in self.tests.items():
                if prefix == "*" or source.path.startswith(prefix + "/"):
                    entries = entries + more
        return entries

    def allows_system(self, entries, header):
        for entry in entries:
            if entry.startswith("@"):
                patterns = self.sets[entry[1:]]
            elif entry.startswith("<"):
                patterns = [entry.strip("<>")]
            else:
                continue
            if any(fnmatch.fnmatchcase(header, pattern) for pattern in patterns):
                return True
        return False


def _logical_lines(text):
    """(number, line) with comments dropped and indented lines joined to the one above."""
    current, start = "", 0
    for number, line in enumerate(text.split("\n"), 1):
        line = line.split("#", 1)[0].rstrip()
        if not line:
            continue
        if line[0].isspace():
            if not current:
                raise RulesError(f"line {number}: nothing to continue")
            current += " " + line.strip()
            continue
        if current:
            yield start, current
        current, start = line, number
    if current:
        yield start, current


def _resolve(paths, source, header):
    """The files of this tree that `header` may name when `source` includes it."""
    beside = posixpath.normpath(f"{posixpath.dirname(source.path)}/{header}")
    if beside in paths:
        return [beside]
    candidates = [posixpath.normpath(f"{root}/{header}") for root in ROOTS]
    return [candidate for candidate in candidates if candidate in paths]


def _verdict(rules, source, folder, bracket, header, targets):
    """None when the include is allowed, else (text, remedy)."""
    entries = rules.entries_for(source, folder)
    if len(targets) > 1:
        return (f"{header} names {' and '.join(targets)}: the order of the include paths decides",
                "rename one of them")
    if targets:
        target = targets[0]
        if any(target == entry or target.startswith(entry + "/") for entry in entries):
            return None
        return (f"{folder} may not include {target}",
                "use what it may see, or move the code to a later folder (ci/include_rules.txt)")
    if bracket == "<":
        if rules.allows_system(entries, header):
            return None
        return (f"{folder} may not include the system header <{header}>",
                "hide it behind the folder that may (ci/include_rules.txt)")
    if f'"{header}"' in entries:
        return None
    return (f'"{header}" is no file of this tree',
            "write the path from the include root, or list it as generated in ci/include_rules.txt")


def check_includes(sources, rules):
    paths = {source.path for source in sources}
    for source in sources:
        if not source.is_c:
            continue
        folder = rules.folder_of(source.path)
        if folder is None:
            yield Problem(source.path, 1, RULE, "no rule covers this folder",
                          "add one to ci/include_rules.txt")
            continue
        for number, line in enumerate(source.lines, 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            bracket, header = match.groups()
            targets = _resolve(paths, source, header)
            bad = _verdict(rules, source, folder, bracket, header, targets)
            if bad:
                yield Problem(source.path, number, RULE, *bad)
