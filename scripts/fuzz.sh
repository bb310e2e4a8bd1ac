#!/usr/bin/env bash
# Builds the fuzz targets (fuzz/README.md) and runs each for a while, two at a time.
#
# usage: fuzz.sh [--seconds N] [--target NAME ...] [--merge]
#   --seconds N    the time for each target (default 60)
#   --target NAME  only this target; can be repeated
#   --merge        then rewrite fuzz/corpus: the smallest set of inputs with the same coverage
#   --help         this text
#
# Inputs found in earlier runs stay in build/fuzz/corpus, and the next run starts with them. An
# input that violates a law stays in build/fuzz/crashes, and the script prints the command that
# reproduces it. Works from any directory. Exits with 0 if no target found anything, else with 1.
set -euo pipefail

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

# More than enough for any bounded input; exceeding one of these is a finding.
readonly kMaxInputBytes=8192 kMaxInputSeconds=10 kMaxMegabytes=1536 kMaxBlockMegabytes=256
# Limits for the repository: larger inputs, which reach the most code, are preferred.
readonly kMaxKeptBytes=4096 kMaxKept=180

seconds=60
chosen=()
merge=no
while [[ $# -gt 0 ]]; do
  case "$1" in
    --seconds | --target)
      if [[ $# -lt 2 ]]; then
        echo "fuzz.sh: $1 needs a value" >&2
        exit 2
      fi
      [[ $1 == --seconds ]] && seconds="$2" || chosen+=("$2")
      shift
      ;;
    --merge) merge=yes ;;
    --help | -h)
      usage
      exit 0
      ;;
    *)
      echo "fuzz.sh: unknown option $1" >&2
      usage >&2
      exit 2
      ;;
  esac
  shift
done
if ! [[ $seconds =~ ^[1-9][0-9]*$ ]]; then
  echo "fuzz.sh: --seconds needs a whole number above 0, not $seconds" >&2
  exit 2
fi

cd "$(dirname "${BASH_SOURCE[0]}")/.."
build="${HOLDFAST_FUZZ_BUILD:-build/fuzz}"

targets=()
for folder in fuzz/corpus/*/; do
  targets+=("$(basename "$folder")")
done
for name in "${chosen[@]}"; do
  if [[ " ${targets[*]} " != *" $name "* ]]; then
    echo "fuzz.sh: unknown target \"$name\"; the targets are: ${targets[*]}" >&2
    exit 2
  fi
done
[[ ${#chosen[@]} -eq 0 ]] || targets=("${chosen[@]}")

echo "== build"
cmake --preset fuzz -B "$build" > /dev/null
cmake --build "$build" --target "${targets[@]/#/fuzz_}"
mkdir -p "$build"/{corpus,crashes,fuzz_logs}

export ASAN_OPTIONS="detect_stack_use_after_return=1${ASAN_OPTIONS:+:$ASAN_OPTIONS}"
export UBSAN_OPTIONS="print_stacktrace=1${UBSAN_OPTIONS:+:$UBSAN_OPTIONS}"

fuzz_one() {
  local name="$1" words=()
  mkdir -p "$build/corpus/$name"
  [[ ! -f fuzz/$name.dict ]] || words=("-dict=fuzz/$name.dict")
  "$build/targets/fuzz_$name" "${words[@]}" -max_total_time="$seconds" \
    -timeout=$kMaxInputSeconds -rss_limit_mb=$kMaxMegabytes \
    -malloc_limit_mb=$kMaxBlockMegabytes -max_len=$kMaxInputBytes \
    -print_final_stats=1 -artifact_prefix="$build/crashes/$name-" \
    "$build/corpus/$name" "fuzz/corpus/$name" > "$build/fuzz_logs/$name" 2>&1 &&
    echo ok > "$build/fuzz_logs/$name.result" || echo FOUND > "$build/fuzz_logs/$name.result"
}

echo "== fuzz, $seconds s each"
for name in "${targets[@]}"; do
  rm -f "$build/fuzz_logs/$name.result"
  fuzz_one "$name" &
  while [[ $(jobs -pr | wc -l) -ge 2 ]]; do
    wait -n || true
  done
done
wait

# The last value that the log of a target has for a pattern.
last_logged() { sed -n "s/$2/\1/p" "$build/fuzz_logs/$1" | tail -n 1; }

found=0
printf '%-14s %12s %8s %8s %9s  %s\n' target executions exec/s corpus coverage result
for name in "${targets[@]}"; do
  result="$(cat "$build/fuzz_logs/$name.result")"
  printf '%-14s %12s %8s %8s %9s  %s\n' "$name" \
    "$(last_logged "$name" '^stat::number_of_executed_units: *\([0-9]*\)$')" \
    "$(last_logged "$name" '^stat::average_exec_per_sec: *\([0-9]*\)$')" \
    "$(last_logged "$name" '^#.* corp: \([0-9]*\)[/ ].*$')" \
    "$(last_logged "$name" '^#.* cov: \([0-9]*\) .*$')" "$result"
  [[ $result == ok ]] || found=1
done
for name in "${targets[@]}"; do
  if [[ $(cat "$build/fuzz_logs/$name.result") != ok ]]; then
    input="$(last_logged "$name" '^.*Test unit written to \(.*\)$')"
    echo
    echo "$name: $(grep -m 1 -E 'what\(\):|ERROR:|runtime error:|assertion' \
      "$build/fuzz_logs/$name" || tail -n 1 "$build/fuzz_logs/$name")"
    echo "  again: $build/targets/fuzz_$name $input"
    echo "  log:   $build/fuzz_logs/$name"
  fi
done

# Inputs are selected by the edges they reach, not by how often: the corpus is for replay and must
# be small enough for the repository. Inputs that once violated a law (found_*) are always kept.
merge_one() {
  local name="$1" merged
  merged="$(mktemp -d)"
  find "fuzz/corpus/$name" -name 'found_*' -exec cp {} "$merged" \;
  "$build/targets/fuzz_$name" -set_cover_merge=1 -use_counters=0 -max_len=$kMaxKeptBytes \
    "$merged" "fuzz/corpus/$name" "$build/corpus/$name" > "$build/fuzz_logs/$name.merge" 2>&1
  rm -f "fuzz/corpus/$name"/*
  find "$merged" -name 'found_*' -exec mv {} "fuzz/corpus/$name" \;
  find "$merged" -type f -printf '%s %f\n' | sort -k 1nr -k 2 | head -n $kMaxKept |
    while read -r _ input; do
      cp "$merged/$input" "fuzz/corpus/$name/${input:0:12}.seed"
    done
  rm -r "$merged"
  echo "$name: $(find "fuzz/corpus/$name" -type f | wc -l) inputs," \
    "$(find "fuzz/corpus/$name" -type f -printf '%s\n' | awk '{ n += $1 } END { print n }') bytes"
}

if [[ $merge == yes && $found -eq 0 ]]; then
  echo "== merge"
  for name in "${targets[@]}"; do
    merge_one "$name"
  done
fi
exit $found
