#!/usr/bin/env bash
# Installs the packages for the tests, builds, and runs every test.
#
# usage: test.sh [--sanitize | --tsan] [--long]
#   --sanitize  build and run with AddressSanitizer and UndefinedBehaviorSanitizer
#   --tsan      build and run with ThreadSanitizer
#   --long      add the soak tests: more rounds, more kills, longer timeouts, clang-tidy; an hour of
#               simulations on every core, a minute of fuzzing for each target, planted bugs
#   --help      this text
#
# Works from any directory. Exits with 0 if every test passed.
set -euo pipefail

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

preset=release
deadline_factor=1  # how much longer tests wait, and may take
long=OFF
packages=all
unity=ON
for argument in "$@"; do
  case "$argument" in
    --sanitize | --tsan)
      if [[ $preset != release ]]; then
        echo "test.sh: --sanitize and --tsan are different builds; use one of them" >&2
        exit 2
      fi
      [[ $argument == --tsan ]] && preset=tsan || preset=asan
      deadline_factor=$((deadline_factor * 4))
      ;;
    --long)
      export HOLDFAST_LONG=1
      export RC_PARAMS="${RC_PARAMS:-max_success=2000}"
      deadline_factor=$((deadline_factor * 10))
      long=ON
      packages=long
      unity=OFF  # clang-tidy checks each file separately
      ;;
    --help | -h)
      usage
      exit 0
      ;;
    *)
      echo "test.sh: unknown option $argument" >&2
      usage >&2
      exit 2
      ;;
  esac
done

cd "$(dirname "${BASH_SOURCE[0]}")/.."

echo "== packages"
./scripts/install_packages.sh "$packages"

echo "== build ($preset)"
cmake --preset "$preset" -DHOLDFAST_LONG=$long -DHOLDFAST_UNITY=$unity > /dev/null
cmake --build --preset "$preset"

export HOLDFAST_DEADLINE_FACTOR=$deadline_factor
export ASAN_OPTIONS="detect_leaks=1:halt_on_error=1:detect_stack_use_after_return=1:\
strict_string_checks=1:check_initialization_order=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"
export TSAN_OPTIONS="halt_on_error=1:second_deadlock_stack=1${TSAN_OPTIONS:+:$TSAN_OPTIONS}"

# ThreadSanitizer needs its address range free; address randomisation may occupy it.
fixed_addresses=()
if [[ $preset == tsan ]] && setarch "$(uname -m)" -R true 2> /dev/null; then
  fixed_addresses=(setarch "$(uname -m)" -R)
fi

if [[ $long == ON && $preset == release ]]; then
  echo "== fuzzing"
  ./scripts/fuzz.sh --seconds 60
  echo "== planted bugs"
  ./scripts/mutants.sh
fi

echo "== tests"
exec "${fixed_addresses[@]}" ctest --test-dir "build/$preset" --output-on-failure -j2 \
  --timeout $((900 * deadline_factor))
