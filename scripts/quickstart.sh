#!/usr/bin/env bash
# From a fresh Debian 12 to workflows that survive kill -9: installs the packages for a build,
# builds Holdfast, and runs two orders (examples/quickstart/order.yaml) in build/quickstart/.
#
# usage: quickstart.sh [--demo-only [PROGRAM FOLDER]]
#   --demo-only  skip packages and build; run PROGRAM (build/release/bin/holdfast) in FOLDER
#                (build/quickstart), which is emptied first
#   --help       this text
#
# Works from any directory. Exits with 0 if every command ended as expected.
set -euo pipefail

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

fail() {
  echo "quickstart: $*" >&2
  exit 1
}

say() { printf '\n== %s\n' "$*"; }

# Prints a command as it can be typed.
show() {
  local argument text=""
  for argument in "$@"; do
    if [[ "$argument" =~ ^[][A-Za-z0-9_:/.,=@\&-]+$ ]]; then
      text+=" $argument"
    else
      text+=" '$argument'"
    fi
  done
  printf '\n$%s\n' "$text"
}

# Prints a command, runs it, and fails unless it exits with the expected code.
run() {
  local expected=$1 code=0
  shift
  show "$@"
  "$@" || code=$?
  [[ $code -eq $expected ]] || fail "'$*' exited with code $code instead of $expected"
}

# The number of lines of a file that begin with a text.
lines() { awk -v start="$2" 'index($0, start) == 1 { ++n } END { print n + 0 }' "$1"; }

# The completed steps of the newest run, one per line.
finished_steps() {
  holdfast show latest --json | grep -o '"name":"[^"]*","status":"completed"' | cut -d '"' -f 4
}

build() {
  say "packages"
  ./scripts/install_packages.sh build
  say "build (Release; the first time takes a few minutes)"
  cmake --preset release > /dev/null
  # Includes everything that `cmake --install build/release` installs.
  cmake --build --preset release --target holdfast holdfast_library holdfast_share
}

# Starts a worker and kills it while it is shipping.
work_and_be_killed() {
  show holdfast work '&'
  holdfast work &
  worker=$!
  trap 'kill -9 "$worker" 2> /dev/null || true' EXIT
  local waited=0
  until [[ $(grep -c ' shipped$' "$effects") -ge 2 ]]; do
    ((++waited < 600)) || fail "nothing was shipped in 30 seconds"
    sleep 0.05
  done
  sleep 0.2
  show kill -9 "$worker"
  kill -9 "$worker"
  wait "$worker" 2> /dev/null || true
  trap - EXIT
}

# Fails if a step that completed before the kill was executed again after it.
prove() {
  local step before after
  printf '%-10s %s\n' "" "number of calls"
  printf '%-10s %12s %6s\n' "step" "at the kill" "now"
  while read -r step; do
    before=$(lines "$effects.killed" "$step order 17:")
    after=$(lines "$effects" "$step order 17:")
    if [[ $before -gt 0 ]]; then
      printf '%-10s %12d %6d\n' "$step" "$before" "$after"
    fi
    [[ $before -eq $after ]] || fail "completed step $step was executed again"
  done <<< "$1"
  [[ $(grep -c '^ship.* order 17: .* shipped$' "$effects") -eq 8 ]] ||
    fail "8 parcels should have been shipped, each once"
  echo "No completed step was executed again, and all 8 parcels are shipped."
}

demo() {
  local finished
  rm -rf "$folder"
  mkdir -p "$folder/keys"
  export PATH="$bin:$PATH" HOLDFAST_STORE="$store" QUICKSTART_FOLDER="$folder"

  say "an order: it is charged at the third attempt and then waits for an approval"
  printf '\n$ %s\n' "$setting"
  run 0 cat examples/quickstart/order.yaml
  run 6 holdfast run examples/quickstart/order.yaml --until-blocked --key order-17 --input \
    '{"order":"17","total":5000,"parcels":["tea","cups","pot","jam","milk","sugar","cake","forks"]}'

  say "why is it waiting?"
  run 0 holdfast explain latest
  run 0 holdfast approve latest --actor you --comment 'They always pay.'

  say "8 parcels, two at a time; the worker is killed halfway"
  work_and_be_killed
  cp "$effects" "$effects.killed"
  finished="$(finished_steps)"
  grep -q '^ship\[' <<< "$finished" || fail "no parcel was shipped before the kill"
  [[ $'\n'"$finished"$'\n' != *$'\nship\n'* ]] || fail "every parcel was shipped before the kill"

  say "after the kill: another worker can claim the parcels in progress when their leases expire"
  run 0 holdfast explain latest

  say "start again: the run resumes where it stopped"
  run 0 holdfast work --drain

  say "what the steps did outside, and the proof that no completed step was executed again"
  run 0 cat "$effects"
  echo
  prove "$finished"

  say "an order that cannot be shipped: the payment is refunded, and the run fails (exit code 1)"
  run 1 holdfast run examples/quickstart/order.yaml --key order-18 --input \
    '{"order":"18","total":50,"parcels":["anvil"]}'
  run 0 holdfast graph latest
  [[ $(lines "$effects" 'refund order 18:') -eq 1 ]] || fail "order 18 was not refunded once"

  say "the first order again"
  run 0 holdfast list
  local first
  first="$(holdfast list --oldest-first --limit 1 --json | sed 's/.*"run_id":"\([^"]*\)".*/\1/')"
  run 0 holdfast explain "$first"
  run 0 holdfast timeline "$first"
}

next() {
  say "done; try next, in $PWD"
  cat << NEXT
  $setting
  holdfast show latest
  holdfast timeline latest --events
  holdfast explain latest --at r3            (at its third revision)
  holdfast diff latest --from r3
  holdfast status
  holdfast doctor
  holdfast journal verify $store    (verifies every byte)
  holdfast --help

  docs/guide/README.md                       (ten minutes with Holdfast)
  examples/README.md                         (complete programs to copy)
  ./scripts/test.sh                          (every test)
NEXT
}

cd "$(dirname "${BASH_SOURCE[0]}")/.."
program=build/release/bin/holdfast
folder=build/quickstart
case "${1:-}" in
  "") build ;;
  --demo-only)
    program="${2:-$program}"
    folder="${3:-$folder}"
    ;;
  --help | -h)
    usage
    exit 0
    ;;
  *)
    echo "quickstart.sh: unknown option $1" >&2
    usage >&2
    exit 2
    ;;
esac
[[ -x "$program" ]] || fail "$program does not exist; run this without --demo-only first"
bin="$(cd "$(dirname "$program")" && pwd)"
store="sqlite:$folder/orders.db"
effects="$folder/effects.txt"
setting="export PATH=$bin:\$PATH HOLDFAST_STORE=$store"
readonly program folder bin store effects setting
demo
next
