# SPDX-License-Identifier: Apache-2.0
#
# What the scripts of this folder share. Sourced, never run: sets `root`, the repository's root.
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
self=ci/$(basename -- "$0")

# Prints the comment block that opens the script, which is its help text.
show_help() {
  sed -n '/^# Usage:/,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"
}

say() {
  printf '%s: %s\n' "$self" "$*" >&2
}

die() {
  say "error: $*"
  exit 2
}

cores() {
  nproc 2>/dev/null || echo 2
}

# build PRESET [TARGET...]: configures and builds; without a target, everything. The chain of &&
# keeps it honest where the caller tests its status, which switches `set -e` off.
build() {
  local preset=$1
  shift
  local targets=()
  if (($#)); then targets=(--target "$@"); fi
  (
    cd -- "$root" &&
    cmake --preset "$preset" &&
    cmake --build --preset "$preset" --parallel "$(cores)" "${targets[@]}"
  )
}
