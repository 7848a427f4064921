# SPDX-License-Identifier: Apache-2.0
"""Tests of ci/deps against stand-ins for dpkg-query, apt-get, sudo and Python, in a copied tree."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
# Whom subprocess.run becomes to be not root: nobody, or who we are already.
NOT_ROOT = 65534 if os.geteuid() == 0 else None

# Answers for what the file `installed` lists; apt-get adds to it what it is asked to install.
DPKG_QUERY = """#!/bin/sh
shift 3
for package; do grep -qx "$package" "$STATE/installed" && echo "installed $package"; done
exit 1
"""
APT_GET = """#!/bin/sh
echo "apt-get $*" >>"$STATE/log"
[ "$1" = install ] || exit 0
for word; do case $word in install | -*) ;; *) echo "$word" >>"$STATE/installed" ;; esac; done
"""
SUDO = """#!/bin/sh
echo "sudo" >>"$STATE/log"
exec "$@"
"""
# `python -c …` succeeds; `python -m venv DIR` makes DIR/bin/python, which logs what pip is asked.
PYTHON = """#!/bin/sh
[ "$1 $2" = "-m venv" ] || exit 0
mkdir -p "$3/bin"
cat >"$3/bin/python" <<'PIP'
#!/bin/sh
echo "pip" >>"$STATE/log"
while [ $# -gt 0 ]; do [ "$1" = --target ] && mkdir -p "$2/nvidia"; shift; done
exit 0
PIP
chmod +x "$3/bin/python"
echo "venv" >>"$STATE/log"
"""


class DepsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.root.chmod(0o777)
        (self.root / "ci").mkdir()
        for name in ("deps", "common.sh", "requirements.txt", "requirements-nodeps.txt",
                     "requirements-cuda.txt"):
            shutil.copy(HERE / name, self.root / "ci" / name)
        (self.root / "bin").mkdir()
        for tool in ("bash", "sh", "dirname", "basename", "sed", "grep", "sha256sum", "rm", "mkdir",
                     "chmod", "env", "cat", "mv"):
            (self.root / "bin" / tool).symlink_to(shutil.which(tool))
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET), ("sudo", SUDO),
                           ("python-stub", PYTHON)):
            self.stub(name, text)
        for name in ("installed", "log"):
            (self.root / name).touch(mode=0o666)
            (self.root / name).chmod(0o666)

    def stub(self, name, text):
        path = self.root / "bin" / name
        path.write_text(text)
        path.chmod(0o755)

    def deps(self, *arguments, user=None):
        environment = {"PATH": str(self.root / "bin"), "STATE": str(self.root),
                       "OPS_PYTHON": "python-stub", "OPS_CUDA_SYSTEM": str(self.root / "toolkit")}
        return subprocess.run(["bash", self.root / "ci" / "deps", *arguments], env=environment,
                              capture_output=True, text=True, check=False, user=user, cwd="/")

    def log(self):
        text = (self.root / "log").read_text()
        (self.root / "log").write_text("")
        return text

    def test_installs_once_then_touches_nothing(self):
        result = self.deps()
        self.assertEqual(result.returncode, 0, result.stderr)
        log = self.log()
        self.assertIn("apt-get update", log)
        self.assertIn("libdnnl-dev", log)
        self.assertIn("venv", log)
        again = self.deps()
        self.assertEqual((again.returncode, self.log()), (0, ""), again.stderr)

    def test_installs_only_what_is_missing(self):
        self.deps()
        installed = self.root / "installed"
        installed.write_text(installed.read_text().replace("libyaml-dev\n", ""))
        self.log()
        self.assertEqual(self.deps().returncode, 0)
        self.assertEqual(self.log().split("\n")[1].split()[-1], "libyaml-dev")

    def test_changed_pins_make_the_venv_anew(self):
        self.deps()
        self.log()
        with open(self.root / "ci" / "requirements.txt", "a", encoding="utf-8") as file:
            file.write("more==1.0\n")
        self.deps()
        self.assertIn("venv", self.log())

    def test_check_changes_nothing(self):
        result = self.deps("--check")
        self.assertEqual((result.returncode, self.log()), (1, ""))
        self.assertIn("missing packages: cmake", result.stderr)
        self.deps()
        self.assertEqual(self.deps("--check").returncode, 0)

    def test_cuda_is_installed_once(self):
        self.deps()
        self.log()
        self.assertEqual(self.deps("--cuda", "--check").returncode, 1)
        self.assertEqual(self.log(), "")
        result = self.deps("--cuda")
        self.assertEqual((result.returncode, self.log()), (0, "pip\n"), result.stderr)
        self.assertTrue((self.root / ".cache" / "cuda" / "nvidia").is_dir())
        self.assertEqual((self.deps("--cuda").returncode, self.log()), (0, ""))
        self.assertEqual(self.deps("--cuda", "--check").returncode, 0)

    def test_cuda_of_the_system_is_enough(self):
        self.deps()
        self.log()
        include = self.root / "toolkit" / "include"
        include.mkdir(parents=True)
        for name in ("cuda.h", "nvrtc.h"):
            (include / name).touch()
        self.assertEqual((self.deps("--cuda").returncode, self.log()), (0, ""))

    def test_wrong_argument(self):
        result = self.deps("--frobnicate")
        self.assertEqual(result.returncode, 2)
        self.assertIn("--frobnicate", result.stderr)

    def test_a_failing_apt_get_fails(self):
        self.stub("apt-get", "#!/bin/sh\nexit 100\n")
        self.assertNotEqual(self.deps().returncode, 0)

    def test_not_root(self):
        result = self.deps(user=NOT_ROOT)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("sudo", self.log())

    def test_neither_root_nor_sudo(self):
        (self.root / "bin" / "sudo").unlink()
        result = self.deps(user=NOT_ROOT)
        self.assertEqual(result.returncode, 2)
        self.assertIn("apt-get install", result.stderr)
        self.assertEqual(self.log(), "")


if __name__ == "__main__":
    unittest.main()
