#!/bin/sh
# Instructions per step of the engine: runs the same benchmark with more and with fewer steps under
# callgrind; the difference is the cost of the additional steps. Needs valgrind (apt-get install
# valgrind) and a release build.
#
# Each run is executed twice, as a loop and as a for_each, so a difference of 2,000 is 4,000 steps.
#
# usage: bench/instructions.sh [PROGRAM [FEW MANY]]
set -eu

program=${1:-build/release/bin/holdfast}
few=${2:-1000}
many=${3:-3000}

if ! command -v valgrind >/dev/null; then
  echo "instructions.sh: valgrind is missing; install it with: apt-get install valgrind" >&2
  exit 2
fi

instructions() {
  valgrind --tool=callgrind --callgrind-out-file=/dev/null \
    "$program" bench engine --only long_run_in_memory --steps "$1" --json 2>&1 >/dev/null |
    sed -n 's/^==[0-9]*== Collected : //p'
}

first=$(instructions $few)
second=$(instructions $many)
printf '{"bench":"engine","case":"instructions_per_step","value":%d,"unit":"instructions"}\n' \
  $(((second - first) / (2 * (many - few))))
