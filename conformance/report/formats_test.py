#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads what the writers of reports write with other programs' parsers.

usage: formats_test.py REPORT_SAMPLE OPSCONFORM FAULTY_LIBRARY SCHEMA XSD [BROWSER]

JSON goes to the jsonschema package, JUnit to xmllint, CSV to Python's csv, the page to
html.parser and, where there is one, to a browser. The five formats must tell the same story.
"""
import csv
import html.parser
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ET

import jsonschema

FAILURES = {"FAIL", "CRASH", "TIMEOUT", "XPASS", "UNTRUSTED", "FLAKY"}
FORMATS = ("json", "junit", "csv", "md", "html")
LARGE = 60000


class Page(html.parser.HTMLParser):
    """Elements, addresses they load, and the failing cases that are shown."""

    def __init__(self):
        super().__init__()
        self.tags, self.loads, self.handlers, self.cases, self.text = {}, [], [], 0, []

    def handle_starttag(self, tag, attrs):
        self.tags[tag] = self.tags.get(tag, 0) + 1
        for name, value in attrs:
            if name in ("src", "srcset", "data", "action", "poster", "background") or \
                    name == "href" and not value.startswith("#"):
                self.loads.append(f"{tag} {name}={value}")
            if name.startswith("on"):
                self.handlers.append(f"{tag} {name}")
        self.cases += ("class", "case") in attrs

    def handle_data(self, data):
        self.text.append(data)


class Tests:
    def __init__(self, words, folder):
        self.sample, self.program, self.faulty, schema, self.xsd, *browser = words
        self.schema = json.loads(pathlib.Path(schema).read_text(encoding="utf-8"))
        self.browser = browser[0] if browser else None
        self.folder = pathlib.Path(folder)
        self.wrong = 0

    def expect(self, what, found, wanted):
        if found != wanted:
            self.wrong += 1
            print(f"WRONG {what}: expected {str(wanted)[:400]}, found {str(found)[:400]}")

    def check_json(self, path):
        document = json.loads(path.read_text(encoding="utf-8"))
        jsonschema.Draft202012Validator.check_schema(self.schema)
        validator = jsonschema.Draft202012Validator(self.schema)
        for error in list(validator.iter_errors(document))[:5]:
            self.expect(f"{path.name} at {list(error.absolute_path)}", error.message[:300], "")
        counts = {}
        for case in document["cases"]:
            counts[case["status"]] = counts.get(case["status"], 0) + 1
            self.expect(f"{case['id']}: its set of checks",
                        case["checks"] < len(document["check_sets"]), True)
        summary = document["summary"]
        self.expect(f"{path.name}: sums", {k: v for k, v in summary.items() if k.isupper() and v},
                    counts)
        self.expect(f"{path.name}: total", summary["total"], len(document["cases"]))
        return document

    def refuses(self, document):
        """The schema is no rubber stamp: it refuses each of these."""
        validator = jsonschema.Draft202012Validator(self.schema)
        spoils = (lambda d: d.pop("summary"), lambda d: d.update(format=2),
                  lambda d: d["cases"][0].update(status="GOOD"),
                  lambda d: d["cases"][0].pop("repeat"),
                  lambda d: d["cases"][0].update(colour="blue"),
                  lambda d: d["summary"].update(PASS=-1),
                  lambda d: d["oracle"].update(sha256="abc"))
        for number, spoil in enumerate(spoils):
            copy = json.loads(json.dumps({**document, "cases": document["cases"][:3]}))
            spoil(copy)
            self.expect(f"spoilt document {number}", validator.is_valid(copy), False)

    def check_junit(self, path, document):
        done = subprocess.run(["xmllint", "--noout", "--huge", "--schema", self.xsd, path],
                              capture_output=True, text=True, check=False)
        self.expect(f"{path.name} by {self.xsd}", done.returncode and done.stderr[:500], 0)
        root = ET.parse(path).getroot()
        cases = {case.get("name"): case for case in root.iter("testcase")
                 if case.get("classname") != "performance"}
        self.expect("cases of JUnit", set(cases), {case["id"] for case in document["cases"]})
        for case in document["cases"]:
            found = cases[case["id"]]
            wanted = case["status"] != "PASS"
            self.expect(f"{case['id']} in JUnit", len(found) == 1, wanted)
            if wanted:
                self.expect(f"{case['id']}: repeat", f"repeat: {case['repeat']}\n" in found[0].text,
                            True)
        troubles = sum(len(list(root.iter(tag))) for tag in ("failure", "error", "skipped"))
        self.expect("sums of JUnit", troubles,
                    sum(int(root.get(name)) for name in ("failures", "errors", "skipped")))

    def check_csv(self, path, document):
        data = path.read_bytes()
        self.expect("lines of CSV end with CR LF", data.count(b"\n"), data.count(b"\r\n"))
        rows = list(csv.DictReader(data.decode("utf-8").splitlines(keepends=True), strict=True))
        self.expect("rows of CSV", len(rows), len(document["cases"]))
        for row, case in zip(rows, document["cases"]):
            for key in ("id", "op", "type", "status", "check", "metric", "expected", "got", "inputs",
                        "seed", "repeat"):
                self.expect(f"{case['id']}: {key} in CSV", row[key], case.get(key, ""))
            if "error" in case:
                same = math.isclose(float(row["error"]), float(case["error"]), rel_tol=1e-8) or \
                    row["error"].strip("-") == case["error"] == "nan"
                self.expect(f"{case['id']}: error in CSV", same, True)
            self.expect(f"{case['id']}: no formula",
                        row["message"][:1] in "=+@" and row["message"] != "", False)

    def check_markdown(self, path, document):
        text = path.read_text(encoding="utf-8")
        failing = [case for case in document["cases"] if case["status"] in FAILURES]
        blocks = [line[4:] for line in text.splitlines() if line.startswith("    opsconform ")]
        self.expect("repeat lines of Markdown", blocks, [case["repeat"] for case in failing[:100]])
        self.expect("markup of a provider in Markdown", re.findall(r"<img|</script", text), [])
        widths = {}
        for line in text.splitlines():
            cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else None
            if cells and widths.get("last") and cells != widths["last"]:
                self.expect("cells of a row of Markdown", line, widths["last"])
            widths["last"] = cells

    def check_html(self, path, document):
        text = path.read_text(encoding="utf-8")
        page = Page()
        page.feed(text)
        failing = [case for case in document["cases"] if case["status"] in FAILURES]
        self.expect("what the page loads", page.loads, [])
        self.expect("addresses in the page",
                    re.findall(r"url\(|@import|https?://|fetch\(|XMLHttp", text), [])
        self.expect("handlers of a provider in the page", page.handlers, [])
        self.expect("elements of a provider", (page.tags.get("img"), page.tags["script"]), (None, 1))
        self.expect("failing cases of the page", page.cases, min(len(failing), 1000))
        whole = "".join(page.text)
        for case in failing[:1000]:
            self.expect(f"{case['id']} in the page", case["repeat"] in whole, True)
        return page

    def open_page(self, path, document):
        """What a browser makes of it: the script ran and nothing was complained about."""
        if not self.browser:
            return
        done = subprocess.run(
            [self.browser, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
             "--host-resolver-rules=MAP * ~NOTFOUND", "--virtual-time-budget=5000",
             f"--user-data-dir={self.folder / 'browser'}", "--dump-dom", path.as_uri()],
            capture_output=True, text=True, timeout=240, check=False)
        self.expect("the browser's exit code", done.returncode, 0)
        self.expect("complaints of the console", re.findall(r".*CONSOLE.*", done.stderr), [])
        page = Page()
        page.feed(done.stdout)
        self.expect("filters that the script has shown",
                    len(re.findall(r'<div class="tools" hidden', done.stdout)), 0)
        failing = sum(case["status"] in FAILURES for case in document["cases"])
        self.expect("failing cases in the browser", page.cases, min(failing, 1000))

    def check_all(self, name):
        paths = {kind: self.folder / f"{name}.{kind}" for kind in FORMATS}
        document = self.check_json(paths["json"])
        self.check_junit(paths["junit"], document)
        self.check_csv(paths["csv"], document)
        self.check_markdown(paths["md"], document)
        self.check_html(paths["html"], document)
        self.open_page(paths["html"], document)
        return document

    def large(self):
        """60,000 cases: the page and the Markdown stay as small as what there is to say."""
        subprocess.run([self.sample, str(LARGE), self.folder], check=True)
        page = self.check_html(self.folder / "sample.html",
                               json.loads((self.folder / "sample.json").read_text(encoding="utf-8")))
        self.expect("bytes of the page", (self.folder / "sample.html").stat().st_size < 2_000_000,
                    True)
        self.expect("elements of the page", sum(page.tags.values()) < 40_000, True)
        self.expect("bytes of Markdown", (self.folder / "sample.md").stat().st_size < 1_000_000,
                    True)
        self.open_page(self.folder / "sample.html", json.loads(
            (self.folder / "sample.json").read_text(encoding="utf-8")))

    def compare(self):
        """`compare` with the report of the repaired provider, by Python's own look at both."""
        reports = [self.folder / "real.json", self.folder / "good.json"]
        subprocess.run([self.program, "--provider", self.faulty, "--op", "Relu", "--report",
                        f"json:{reports[1]}"], capture_output=True, check=False)
        spoilt, good = (json.loads(path.read_text(encoding="utf-8"))["cases"] for path in reports)
        passing = {case["id"] for case in good if case["status"] == "PASS"}
        changed = sorted(c["id"] for c in spoilt if c["status"] == "FAIL" and c["id"] in passing)
        self.expect("something changed", len(changed) > 2, True)
        for order, code, kind in ((reports, 0, "better"), (reports[::-1], 1, "worse")):
            out = self.folder / "difference.json"
            done = subprocess.run([self.program, "compare", *order, "--report", f"json:{out}"],
                                  capture_output=True, text=True, check=False)
            found = json.loads(out.read_text(encoding="utf-8"))
            self.expect(f"{kind}: exit code", (done.returncode, found["summary"]["exit_code"]),
                        (code, code))
            self.expect(f"{kind}: cases", sorted(change["id"] for change in found["changes"]
                                                 if change["change"] == kind), changed)
        for words in ([reports[0]], [reports[0], self.folder / "real.csv"], [*reports, reports[0]]):
            done = subprocess.run([self.program, "compare", *words], capture_output=True, check=False)
            self.expect("what cannot be compared", done.returncode, 4)

    def run(self):
        subprocess.run([self.sample, "3000", self.folder], check=True)
        self.refuses(self.check_all("sample"))
        reports = [word for kind in FORMATS
                   for word in ("--report", f"{kind}:{self.folder / 'real'}.{kind}")]
        done = subprocess.run([self.program, "--provider", self.faulty, "--option",
                               "fault=relu_drop_last", "--tier", "merge", "--filter",
                               "Relu-14/float/*", *reports],
                              capture_output=True, text=True, check=False)
        self.expect("a spoilt provider", done.returncode, 1)
        document = self.check_all("real")
        for case in document["cases"]:
            if case["status"] == "FAIL":
                self.expect(f"{case['id']} on the console",
                            f"  repeat    {case['repeat']}\n" in done.stdout, True)
        self.compare()
        self.large()
        return 1 if self.wrong else 0


if __name__ == "__main__":
    if len(sys.argv) < 6:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as temporary:
        sys.exit(Tests(sys.argv[1:], temporary).run())
