# SPDX-License-Identifier: Apache-2.0
"""Mutants: what the harness says of the kernels of cpu with one small mistake in their source.

A mutant is one line of providers/cpu/*.c changed in one place: another comparison or operator, a
number one off, a condition turned around, arguments swapped, a statement left out. Which ones
is settled by the seed. Only the changed file is compiled, as the build does it; for the vector
loops that are compiled once for each instruction set, for the one that this machine picks.

A mutant is judged on the operators that can reach its file: definitions.c names the object that holds
each operator's row, and what that object uses is read from the symbols. It is caught when a
case fails, or one that passes without the mutation is not supported any more.
"""
import collections
import concurrent.futures
import ctypes
import fnmatch
import json
import os
import pathlib
import random
import re
import shlex
import shutil
import signal
import subprocess
import threading
import time
import tomllib

# nth: 2 for the second line of the file that the same change makes the same of, and so on.
Mutant = collections.namedtuple("Mutant", "file line kind before after nth", defaults=[1])

SHARED = {"provider.c", "definitions.c"}  # tables: what they promise is not arithmetic
CASE_SECONDS = "10"
MUTANT_SECONDS = 120
TOO_LONG = "took too long"
BAD = re.compile(r"^(FAIL|CRASH|TIMEOUT)\s", re.MULTILINE)

SWAPS = [("<=", "<"), (">=", ">"), ("==", "!="), ("!=", "=="), ("&&", "||"), ("||", "&&"),
         ("<", "<="), (">", ">="), ("+", "-"), ("-", "+"), ("*", "+"), ("/", "*"), ("%", "/"),
         ("+=", "-="), ("-=", "+="), ("<<", ">>"), (">>", "<<")]


# ---- Where a mistake can be made --------------------------------------------------------------

def blank(text):
    """The text with comments and strings blanked, every character in its place."""
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'',
                  lambda match: re.sub(r"[^\n]", " ", match.group()), text, flags=re.DOTALL)


def code_lines(text):
    """Numbers (from 0) of the lines that lie in the body of a function."""
    depth, found, tables = 0, [], False
    for number, line in enumerate(blank(text).split("\n")):
        directive = line.lstrip().startswith("#") or line.rstrip().endswith("\\")
        if depth == 0 and "{" in line:
            tables = "=" in line or "enum" in line or "struct {" in line
        if depth > 0 and not directive and not tables and line.strip() not in ("", "{", "}"):
            found.append(number)
        depth += line.count("{") - line.count("}")
    return found


def changes(code):
    """(kind, begin, end, replacement) of every mistake that one line of blanked code allows."""
    for sign, other in SWAPS:
        for match in re.finditer(rf"(?<= ){re.escape(sign)}(?= )", code):
            yield "operator", *match.span(), other
    for match in re.finditer(r"(?<![\w.])\d+(?![\w.])", code):
        value = int(match.group())
        yield "constant", *match.span(), str(value + 1)
        if value:
            yield "constant", *match.span(), str(value - 1)
    for match in re.finditer(r"!(?=[\w(])", code):
        yield "condition", *match.span(), ""
    for match in re.finditer(r"\b(?:if|while) \((?=[^;]*\))", code):
        yield "condition", match.end(), match.end(), "!"
    for match in re.finditer(r"\b(\w+)\((\w+), (\w+)(?=[,)])", code):
        if match.group(2) != match.group(3):
            yield "arguments", match.start(2), match.end(3), f"{match.group(3)}, {match.group(2)}"
    statement = re.fullmatch(r"(\s+)([\w\[\]>.*-]+(?:\[.*\])? [-+*/|&]?= .*|\w+\(.*\)|[\w]+\+\+);\s*",
                             code)
    if statement:
        yield "statement", len(statement.group(1)), len(code.rstrip()), ";"


def list_mutants(folder):
    found = []
    for path in sorted(folder.glob("*.c")):
        if fnmatch.fnmatch(path.name, "*_test*") or path.name in SHARED:
            continue
        text = path.read_text(encoding="utf-8")
        lines, plain = text.split("\n"), blank(text).split("\n")
        for number in code_lines(text):
            for kind, begin, end, other in changes(plain[number]):
                line = lines[number]
                found.append(Mutant(path.name, number, kind, line, line[:begin] + other + line[end:]))
    return numbered(found)


def numbered(every):
    """The mutants, each with its number among those that read the same."""
    lines = collections.defaultdict(list)
    for mutant in every:
        same = lines[mutant.file, mutant.before.strip(), mutant.after.strip()]
        if mutant.line not in same:
            same.append(mutant.line)
    return [mutant._replace(nth=1 + lines[key(mutant)[:3]].index(mutant.line)) for mutant in every]


def key(mutant):
    """By what a verdict names a mutant."""
    return mutant.file, mutant.before.strip(), mutant.after.strip(), mutant.nth


# ---- Building one -----------------------------------------------------------------------------

class Build:
    """Compile and link commands of libops_cpu.so, as Ninja has them."""

    def __init__(self, build, source):
        self.build, self.source = build, source
        text = subprocess.run(["ninja", "-C", build, "-t", "commands", "lib/libops_cpu.so"],
                              stdout=subprocess.PIPE, text=True, check=True).stdout
        self.link, self.compile = None, collections.defaultdict(dict)
        for line in text.splitlines():
            if line.startswith("ninja:"):
                continue
            words = shlex.split(line)
            if " -c " in line and str(source) in line:
                self.compile[pathlib.Path(words[words.index("-c") + 1]).name][
                    words[words.index("-o") + 1]] = words
            elif "libops_cpu.so" in line:
                self.link = words
        self.objects = {}  # of each source: the one that this machine runs
        for name, commands in self.compile.items():
            self.objects[name] = max(commands, key=self.preference)

    @staticmethod
    def preference(name):
        flags = set(re.findall(r"^flags.*", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"),
                               re.MULTILINE)[0].split())
        order = [("base", set()), ("avx2", {"avx2", "fma"}),
                 ("avx512", {"avx512f", "avx512bw", "avx512dq", "avx512vl"}),
                 ("vnni", {"avx512f", "avx512_vnni"})]
        for rank, (isa, needed) in enumerate(order):
            if f"vec_{isa}.dir" in name:
                return rank if needed <= flags else -1
        return 0

    def make(self, mutant, stem):
        """The library with the mutation; None if it does not compile."""
        text = (self.source / mutant.file).read_text(encoding="utf-8").split("\n")
        text[mutant.line] = mutant.after
        changed, thing, library = (pathlib.Path(f"{stem}{end}") for end in (".c", ".o", ".so"))
        changed.write_text("\n".join(text), encoding="utf-8")
        target = self.objects[mutant.file]
        words = [w for w in self.compile[mutant.file][target] if w != "-Werror"]
        words[words.index("-c") + 1] = str(changed)
        words[words.index("-o") + 1] = str(thing)
        words[words.index("-c"):words.index("-c")] = ["-w", "-iquote", str(self.source)]
        if subprocess.run(self.clean(words), cwd=self.build, stderr=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, check=False).returncode != 0:
            return None
        link = [str(thing) if w == target else w for w in self.link]
        link[link.index("-o") + 1] = str(library)
        done = subprocess.run(self.clean(link), cwd=self.build, stderr=subprocess.PIPE,
                              stdout=subprocess.PIPE, check=False)
        return library if done.returncode == 0 else None

    @staticmethod
    def clean(words):
        """Without the parts of a command line that a shell or a dependency file would need."""
        while words and words[0] in (":", "&&"):
            words = words[1:]
        if "&&" in words:
            words = words[:words.index("&&")]
        kept, skip = [], 0
        for word in words:
            if skip:
                skip -= 1
            elif word in ("-MT", "-MF"):
                skip = 1
            elif word != "-MD":
                kept.append(word)
        return kept


# ---- Which operators reach a file -------------------------------------------------------------

def symbols(path):
    """(defined, used) global symbols of an object."""
    defined, used = set(), set()
    text = subprocess.run(["nm", "-g", path], stdout=subprocess.PIPE, text=True,
                          check=True).stdout
    for line in text.splitlines():
        (used if line.split()[-2] == "U" else defined).add(line.split()[-1])
    return defined, used


class Request(ctypes.Structure):
    """ops_query_request of ops/provider.h."""
    _fields_ = [("size", ctypes.c_uint64), ("magic", ctypes.c_uint64), ("low", ctypes.c_uint32),
                ("high", ctypes.c_uint32), ("offered", ctypes.c_uint64),
                ("sanitizer", ctypes.c_uint32), ("reserved", ctypes.c_uint32)]


class Reply(ctypes.Structure):
    """ops_query_reply of ops/provider.h."""
    _fields_ = [("size", ctypes.c_uint64), ("magic", ctypes.c_uint64), ("version", ctypes.c_uint32),
                ("low", ctypes.c_uint32), ("high", ctypes.c_uint32),
                ("sanitizer", ctypes.c_uint32), ("offered", ctypes.c_uint64),
                ("required", ctypes.c_uint64), ("provider", ctypes.c_void_p)]


MAGIC = int.from_bytes(b"OPSABI01", "little")
KERNELS_AT = 56  # of ops_provider: kernels, kernel_count, kernel_stride


def read_word(address):
    return ctypes.c_uint64.from_address(address).value


def read_str(address):
    return ctypes.string_at(read_word(address), read_word(address + 8)).decode()


def query(library, version):
    request = Request(ctypes.sizeof(Request), MAGIC, version, version, 0x1ff, 0, 0)
    reply = Reply(ctypes.sizeof(Reply))
    library.ops_provider_query(ctypes.byref(request), ctypes.byref(reply), None)
    return reply


def read_rows(path):
    """operator -> names of the rows that its kernels share, from the library's own table."""
    library = ctypes.CDLL(str(path))
    reply = query(library, query(library, 0).high)  # a refusal says what it speaks
    text = subprocess.run(["nm", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    names = {int(words[0], 16): words[2] for words in map(str.split, text.splitlines())
             if len(words) == 3}
    where = {name: address for address, name in names.items()}
    base = ctypes.cast(library.ops_provider_query, ctypes.c_void_p).value \
        - where["ops_provider_query"]
    rows = collections.defaultdict(set)
    first, count, stride = (read_word(reply.provider + KERNELS_AT + 8 * i) for i in range(3))
    for at in range(first, first + count * stride, stride):
        domain, operator = read_str(at + 8), read_str(at + 24)
        context = read_word(at + read_word(at) - 8)  # the last field
        rows[f"{domain}.{operator}" if domain else operator].add(names.get(context - base, ""))
    return rows


class Reach:
    """Which operators' rows lead to which source."""

    def __init__(self, build):
        self.uses, definer = {}, {}
        for name, target in build.objects.items():
            defined, used = symbols(build.build / target)
            self.uses[name] = used
            for symbol in defined:
                definer[re.sub(r"_(base|avx2|avx512|vnni)$", "", symbol)] = name
        self.definer = definer
        self.source = build.source
        self.rows = read_rows(build.build / "lib" / "libops_cpu.so")

    def from_row(self, family):
        """Sources that the row of a family leads to."""
        start = self.definer.get(family)
        seen, todo = set(), [start] if start else []
        while todo:
            name = todo.pop()
            if name in seen:
                continue
            seen.add(name)
            for symbol in self.uses[name]:
                other = self.definer.get(re.sub(r"_(base|avx2|avx512|vnni)$", "", symbol))
                if other and other not in ("kernel.c", "provider.c", "definitions.c"):
                    todo.append(other)
        return seen

    def vector_users(self):
        """Vector loops' source -> sources that call them: by the name of the function, which is that
        of its slot in the table; slots that hold several belong to the source with the table, and
        to that of their name."""
        slots, users = collections.defaultdict(set), collections.defaultdict(set)
        table = next(name for symbol, name in self.definer.items() if symbol == "cpu_vec")
        for name in self.uses:
            text = (self.source / name).read_text(encoding="utf-8")
            for slot in set(re.findall(r"\bvec->(\w+)", text)):
                slots[slot].add(name)
        for slot, callers in slots.items():
            owner = self.definer.get(f"cpu_vec_{slot}")
            for name in [owner] if owner else [table, f"vec_{slot}.c"]:
                users[name] |= callers
        return users

    def table(self):
        """source -> operators; the files of the kernels' common life belong to all."""
        found = collections.defaultdict(set)
        for operator, rows in self.rows.items():
            found["kernel.c"].add(operator)
            for row in rows:
                for name in self.from_row(row):
                    found[name].add(operator)
        users = self.vector_users()
        for name in self.uses:
            if not name.startswith("vec"):
                continue
            called = set().union(*(found[user] for user in users[name]))
            found[name] = called or found[name] or set(self.rows)
        return found


# ---- Judging one ------------------------------------------------------------------------------

WHOLE = "provider"  # stands for the cases about the provider as a whole


def which(operator):
    return ["--filter", f"{WHOLE}/*"] if operator == WHOLE else ["--op", operator]


class Judge:
    """Runs opsconform on mutants; knows what passes without a mutation."""

    def __init__(self, build, contracts, folder, tiers=("merge", "full")):
        self.program = build / "bin" / "opsconform"
        self.library = build / "lib" / "libops_cpu.so"
        self.folder, self.known, self.lock, self.tiers = folder, {}, threading.Lock(), tiers
        shutil.copytree(contracts, folder / "contracts")  # as they are now

    def run(self, library, operator, tier, stem, seconds):
        """(ids that pass, seconds), or the line of the first failure."""
        report = pathlib.Path(f"{stem}.json")
        report.unlink(missing_ok=True)
        started = time.monotonic()
        process = subprocess.Popen(
            [self.program, "--provider", library, *which(operator), "--tier", tier, "--jobs", "1",
             "--timeout", CASE_SECONDS, "--contracts", self.folder / "contracts",
             "--report", f"json:{report}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
            start_new_session=True)
        timer = threading.Timer(seconds, os.killpg, (process.pid, signal.SIGKILL))
        timer.start()
        found = None
        for line in process.stdout:
            if BAD.match(line):
                found = line.strip()
                os.killpg(process.pid, signal.SIGKILL)
                break
        process.stdout.close()
        code = process.wait()
        timer.cancel()
        if found:
            return found
        if code == -signal.SIGKILL:
            return TOO_LONG
        if code not in (0, 6) or not report.exists():
            return f"exit code {code}"
        cases = json.loads(report.read_text(encoding="utf-8"))["cases"]
        return {c["id"] for c in cases if c["status"] == "PASS"}, time.monotonic() - started

    def unchanged(self, operator, tier):
        """What the library passes without a mutation; an empty set where there is no contract."""
        with self.lock:
            if (operator, tier) in self.known:
                return self.known[operator, tier]
        stem = self.folder / f"known-{operator}-{tier}"
        found = self.run(self.library, operator, tier, stem, 4 * MUTANT_SECONDS)
        if found == "exit code 4":
            found = set(), 0
        if isinstance(found, str):
            raise RuntimeError(f"{operator} fails without a mutation: {found}")
        with self.lock:
            self.known[operator, tier] = found
        return found

    def seconds_of(self, operator):
        with self.lock:
            return self.known.get((operator, "merge"), (0, 1))[1]

    def judge(self, library, operators, stem):
        """("caught", why) or ("survived", which operators were not asked for want of time)."""
        end = time.monotonic() + MUTANT_SECONDS
        order = sorted(operators | {WHOLE}, key=self.seconds_of)
        asked = 0
        for tier in self.tiers:  # what the one finds, the other would find, too
            for number, operator in enumerate(order):
                started = time.monotonic()
                before = self.unchanged(operator, tier)[0]
                end += time.monotonic() - started  # what is learnt for all is not this mutant's time
                left = end - time.monotonic()
                if not before:
                    continue
                asked += 1
                found = self.run(library, operator, tier, stem, left) if left > 1 else TOO_LONG
                if found == TOO_LONG:
                    return "survived", f"tier {tier}: only {number} of {len(order)} operators"
                if isinstance(found, str):
                    return "caught", f"{operator}, tier {tier}: {found}"
                if before - found[0]:
                    return "caught", f"{operator}: {len(before - found[0])} cases are not claimed"
        if not asked:
            raise RuntimeError(f"nothing passes without a mutation: {', '.join(order)}")
        return "survived", ""


# ---- All of them ------------------------------------------------------------------------------

def read_verdicts(path):
    """key -> (verdict, reason) of survivors that somebody has looked at."""
    if not path.exists():
        return {}
    table = tomllib.loads(path.read_text(encoding="utf-8"))
    return {(row["file"], row["before"].strip(), row["after"].strip(), row.get("nth", 1)):
            (row["verdict"], row["reason"]) for row in table.get("mutant", [])}


def shuffled(source, seed):
    """Every mutant, in the order of a seed."""
    every = list_mutants(source)
    random.Random(seed).shuffle(every)
    return every


def listed(source, verdicts, wanted):
    """(the mutants whose verdict is `wanted`, the keys of those that the source no longer allows)."""
    keys = {name for name, (verdict, _) in verdicts.items() if verdict == wanted}
    found = [mutant for mutant in list_mutants(source) if key(mutant) in keys]
    return found, sorted(keys - set(map(key, found)))


class Bench:
    """A build that makes mutants, and its judge."""

    def __init__(self, build, source, folder, tiers):
        folder.mkdir()
        self.tools, self.folder = Build(build, source), folder
        self.judge = Judge(build, source.parents[1] / "contracts", folder, tiers)

    def try_mutant(self, mutant, operators, worker):
        """As Judge.judge; None if the mutant does not compile."""
        stem = self.folder / f"mutant-{worker}"
        library = self.tools.make(mutant, stem)
        return library and self.judge.judge(library, operators, stem)


def measure(build, sanitized, source, folder, every, number, jobs, minutes, say):
    """Results of the first `number` mutants of `every` that compile, or of as many as `minutes` allow:
    dicts with mutant, result, why. What survives is judged again with the build `sanitized`, if there
    is one."""
    end = time.monotonic() + 60 * minutes
    first = Bench(build, source, folder / "first", ("merge", "full"))
    second = sanitized and Bench(sanitized, source, folder / "sanitized", ("merge",))
    tools, reach = first.tools, Reach(first.tools).table()
    chosen = iter([m for m in every if m.file in tools.objects and reach[m.file]])
    lock, results, discarded = threading.Lock(), [], 0

    def work(worker):
        nonlocal discarded
        while True:
            with lock:
                if len(results) >= number:
                    return
                mutant = next(chosen, None)
                if mutant is None:
                    return
                place = {"mutant": mutant, "result": None}
                results.append(place)
            late = time.monotonic() > end
            found = None if late else first.try_mutant(mutant, reach[mutant.file], worker)
            if found is None:
                with lock:
                    results.remove(place)
                    discarded += not late
                if late:
                    return
                continue
            if second and found[0] == "survived":
                again = second.try_mutant(mutant, reach[mutant.file], worker)
                if again and again[0] == "caught":
                    found = "caught", f"sanitized: {again[1]}"
            place["result"], place["why"] = found
            say(place)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for task in [pool.submit(work, worker) for worker in range(jobs)]:
            task.result()
    return results, discarded
