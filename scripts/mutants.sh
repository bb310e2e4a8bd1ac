#!/usr/bin/env bash
# Plants known bugs, one at a time, and checks that the simulator finds each of them.
#
# usage: mutants.sh [--seeds N] [--only NAME[,NAME...]] [--list]
#   --seeds N    give up on a bug after this many simulations (default: 2000)
#   --only ...   only these bugs
#   --list       print the bugs and exit
#   --help       this text
#
# Copies the sources to build/mutants and builds the simulators with the bugs of
# tools/planted_bugs.py, tools/planted_broker_bugs.py and tools/planted_mesh_bugs.py, each enabled
# by an environment variable; the product itself contains none of this. The convergence test of the
# mesh takes the place of a simulator for the last ones. With --only, a simulator that none of the
# bugs needs is not built. Prints a table and exits with 1 if a bug was not found, or if a simulator
# fails without any bug.
set -euo pipefail

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" | sed '$d'; }

cd "$(dirname "${BASH_SOURCE[0]}")/.."
seeds=2000
only=""
while [[ $# -gt 0 ]]; do
  case "$1" in
    --seeds | --only)
      [[ $# -ge 2 ]] || { echo "mutants.sh: $1 needs a value" >&2; exit 2; }
      [[ $1 == --seeds ]] && seeds="$2" || only="$2"
      shift 2
      ;;
    --list)
      python3 tools/plant_bugs.py --list | sed 's/\t/: /'
      exit 0
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *)
      echo "mutants.sh: unknown option $1" >&2
      usage >&2
      exit 2
      ;;
  esac
done

tree="$PWD/build/mutants/tree"
echo "== build with planted bugs"
mkdir -p "$tree"
# Unchanged files keep their times, so that little is rebuilt.
rm -rf "$tree.new"
mkdir -p "$tree.new"
cp -r --preserve=timestamps CMakeLists.txt cmake src include schema fuzz tests tools "$tree.new/"
python3 tools/plant_bugs.py "$tree.new/src"
# So do those with the content of the last time.
(cd "$tree.new" && find . -type f -exec sh -c \
  'for file; do cmp -s "$file" "$0/$file" && touch -r "$0/$file" "$file"; done; true' "$tree" {} +)
rm -rf "$tree"
mv "$tree.new" "$tree"
cmake -S "$tree" -B build/mutants/build -G Ninja -DCMAKE_BUILD_TYPE=Release > /dev/null
programs=$(python3 tools/hunt_bugs.py --list-programs ${only:+--only "$only"})
# shellcheck disable=SC2086 # several words
cmake --build build/mutants/build --target $programs

echo "== without any bug"
for program in $programs; do
  if [[ $program == mesh_roster_tests ]]; then
    check=(env HOLDFAST_MESH_SEEDS=100 "build/mutants/build/tests/$program")
    check+=(--gtest_filter='Convergence.*')
  else
    check=("build/mutants/build/bin/$program" 100)
  fi
  "${check[@]}" > /dev/null || {
    echo "mutants.sh: ${check[*]} fails without a planted bug" >&2
    exit 1
  }
done

echo "== one bug at a time"
exec python3 tools/hunt_bugs.py --build build/mutants/build --seeds "$seeds" \
  ${only:+--only "$only"}
