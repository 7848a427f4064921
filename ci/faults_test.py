#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests of what ci/faults is made of: the table of faults, the verdict on a row, mutations.

usage: faults_test.py
"""
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.dont_write_bytecode = True

import faults_table  # noqa: E402
import mutants  # noqa: E402

_LOADER = importlib.machinery.SourceFileLoader("faults", str(HERE / "faults"))
faults = importlib.util.module_from_spec(importlib.util.spec_from_loader("faults", _LOADER))
_LOADER.exec_module(faults)

GOOD = """
#define FAULT_LIST(X) \\
  X(one, "Relu", "values", "FAIL", "what", "a/b#1 text") \\
  X(two, "library Conv", "guard shape", "FAIL CRASH", \\
    "in two " \\
    "parts", \\
    "")
#define CONTROL_LIST(X) \\
  X(other, "", "otherwise")
"""


def read(text):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "list.h"
        path.write_text(text, encoding="utf-8")
        return faults_table.read_table(path)


class Table(unittest.TestCase):
    def test_rows(self):
        rows, controls = read(GOOD)
        self.assertEqual([row.name for row in rows], ["one", "two"])
        self.assertEqual(rows[1].operators, ["Conv"])
        self.assertEqual(rows[1].kinds, {"library"})
        self.assertEqual(rows[1].checks, ["guard", "shape"])
        self.assertEqual(rows[1].what, "in two parts")
        self.assertEqual(controls[0].operators, [])

    def test_refused(self):
        for wrong in (GOOD.replace('"values", ', ""), GOOD.replace("two", "one"),
                      GOOD.replace("CONTROL_LIST", "OTHER_LIST"),
                      GOOD.replace('"what"', "what")):
            with self.assertRaises(faults_table.TableError):
                read(wrong)

    def test_own(self):
        rows, controls = faults_table.read_table(faults.TABLE)
        self.assertGreaterEqual(len(rows), 60)
        self.assertGreaterEqual(len(controls), 10)
        cited = {row.source.split(" ")[0] for row in rows if row.source}
        self.assertGreaterEqual(len(cited), 30)
        for source in cited:
            self.assertRegex(source, r"^[\w.-]+/[\w.-]+#\d+$")


class Verdict(unittest.TestCase):
    def judge(self, cases, code=1, felt=1):
        row = read(GOOD)[0][0]
        return faults.Outcome(row, [{"exit": code, "felt": felt, "cases": cases, "output": ""}])

    def test_caught_by_the_check_meant_for_it(self):
        bad = {"id": "x", "status": "FAIL", "check": "values"}
        self.assertTrue(self.judge([bad]).caught())
        self.assertFalse(self.judge([bad], code=0).caught())
        self.assertFalse(self.judge([bad | {"check": "guard"}]).caught())
        self.assertFalse(self.judge([bad | {"status": "FLAKY"}]).caught())
        self.assertFalse(self.judge([bad | {"status": "PASS"}]).caught())

    def test_caught_by_the_case_meant_for_it(self):
        row = read(GOOD.replace('"values", "FAIL"', '"time/drain streams", "FAIL"'))[0][0]
        for check, name, caught in (("time", "drain", True), ("time", "order", False),
                                    ("streams", "order", True), ("drain", "drain", False)):
            case = {"id": f"provider/streams/{name}", "status": "FAIL", "check": check}
            self.assertEqual(faults.catches(row, case), caught)

    def test_speeds(self):
        report = {"performance": [
            {"id": "x", "verdict": verdict, "reason": verdict} for verdict in
            ("ok", "regression", "inconclusive")]}
        found = faults.speeds(report)
        self.assertEqual([case["status"] for case in found], ["PASS", "REGRESSION", "INCONCLUSIVE"])
        self.assertEqual({case["check"] for case in found}, {"performance"})
        self.assertEqual(faults.speeds({"cases": []}), [])
        row = read(GOOD.replace('"values", "FAIL"', '"performance", "REGRESSION"'))[0][0]
        for cases, code, caught in ((found, 2, True), (found, 0, False), (found[2:], 3, False)):
            run = {"exit": code, "felt": 1, "cases": cases, "output": ""}
            self.assertEqual(faults.Outcome(row, [run]).caught(), caught)
            self.assertTrue(faults.Outcome(row, [run]).alarm())

    def test_dead(self):
        self.assertTrue(self.judge([], 0, 0).dead())
        self.assertFalse(self.judge([], 0, 1).dead())

    def test_alarm(self):
        passed = {"id": "x", "status": "PASS"}
        self.assertFalse(self.judge([passed], 0).alarm())
        self.assertTrue(self.judge([passed, {"id": "y", "status": "FLAKY"}], 1).alarm())
        self.assertTrue(self.judge([], 6).alarm())


class Mutations(unittest.TestCase):
    TEXT = '\n'.join(['#define A 1 + 2', 'static const int t[] = {', '  1, 2};', 'int f(int n) {',
                      '  // 1 + 2', '  g("1 + 2", n);', '  return n + 1;', '}', 'int x = 3;'])

    def test_only_code_of_functions(self):
        self.assertEqual(mutants.code_lines(self.TEXT), [5, 6])

    def changed(self, line):
        return {line[:b] + other + line[e:] for _, b, e, other in mutants.changes(mutants.blank(line))}

    def test_changes(self):
        self.assertEqual(self.changed("  return n + 1;"),
                         {"  return n - 1;", "  return n + 2;", "  return n + 0;"})
        self.assertIn("  f(b, a);", self.changed("  f(a, b);"))
        self.assertIn("  if (!a) b = 1;", self.changed("  if (a) b = 1;"))
        self.assertIn("  ;", self.changed("  f(a);"))
        self.assertEqual(self.changed("  // 1 + 2"), set())
        self.assertFalse([c for c in self.changed('  g("1 + 2", n);') if '"1 - 2"' in c])

    def test_listed(self):
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.c").write_text(self.TEXT, encoding="utf-8")
            verdicts = {("a.c", "return n + 1;", "return n - 1;", 1): ("hole", ""),
                        ("a.c", "return n + 1;", "return n + 2;", 1): ("equivalent", ""),
                        ("a.c", "return n + 1;", "return n - 1;", 2): ("hole", "")}
            found, gone = mutants.listed(pathlib.Path(folder), verdicts, "hole")
        self.assertEqual([mutants.key(m) for m in found], [("a.c", "return n + 1;", "return n - 1;", 1)])
        self.assertEqual(gone, [("a.c", "return n + 1;", "return n - 1;", 2)])

    def test_alike(self):
        """Lines that read the same are told apart by their number."""
        lines = ["int f(int n) {", "  g(n + 1);", "  h(n);", "  g(n + 1);", "}"]
        with tempfile.TemporaryDirectory() as folder:
            (pathlib.Path(folder) / "a.c").write_text("\n".join(lines), encoding="utf-8")
            every = mutants.list_mutants(pathlib.Path(folder))
        self.assertEqual([(m.line, m.nth) for m in every if m.after == "  g(n - 1);"], [(1, 1), (3, 2)])
        self.assertEqual(len({mutants.key(m) for m in every}), len(every))

    def test_own_verdicts(self):
        """No verdict speaks of a line that the source no longer has."""
        verdicts = mutants.read_verdicts(faults.VERDICTS)
        for word in ("hole", "equivalent", "sanitizer"):
            self.assertEqual(mutants.listed(faults.CPU, verdicts, word)[1], [])
        self.assertEqual({verdict for verdict, _ in verdicts.values()} - {"hole", "equivalent", "sanitizer"}, set())


if __name__ == "__main__":
    unittest.main()
