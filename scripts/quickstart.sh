#!/usr/bin/env bash
# From a fresh Debian 12 to workflows that survive kill -9: installs what a build needs, builds
# Holdfast, and carries out two orders (examples/quickstart/order.yaml) in build/quickstart/.
#
# usage: quickstart.sh [--demo-only [PROGRAM FOLDER]]
#   --demo-only  leave out packages and build: with PROGRAM (build/release/bin/holdfast) in FOLDER
#                (build/quickstart), which is emptied first
#   --help       this text
#
# Works from any directory. Exit code 0 when everything was as it says.
set -euo pipefail

usage() { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}"; }

fail() {
  echo "quickstart: $*" >&2
  exit 1
}

say() { printf '\n== %s\n' "$*"; }

# Shows a command as it can be typed.
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

# Shows a command, runs it, and fails unless it ends with this exit code.
run() {
  local promised=$1 code=0
  shift
  show "$@"
  "$@" || code=$?
  [[ $code -eq $promised ]] || fail "'$*' ended with exit code $code instead of $promised"
}

# How many lines a file has that begin so.
lines() { awk -v start="$2" 'index($0, start) == 1 { ++n } END { print n + 0 }' "$1"; }

# The steps of the newest run that are done, one per line.
finished_steps() {
  holdfast show latest --json | grep -o '"name":"[^"]*","status":"completed"' | cut -d '"' -f 4
}

build() {
  say "packages"
  ./scripts/install_packages.sh build
  say "build (Release; the first time takes a few minutes)"
  cmake --preset release > /dev/null
  # With what `cmake --install build/release` installs.
  cmake --build --preset release --target holdfast holdfast_library holdfast_share
}

# Carries out what is open, and dies in the middle of it.
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

# Fails when a step that was done before the kill was done again after it.
prove() {
  local step before after
  printf '%-10s %s\n' "" "times it was called"
  printf '%-10s %12s %6s\n' "step" "by the kill" "now"
  while read -r step; do
    before=$(lines "$effects.killed" "$step order 17:")
    after=$(lines "$effects" "$step order 17:")
    if [[ $before -gt 0 ]]; then
      printf '%-10s %12d %6d\n' "$step" "$before" "$after"
    fi
    [[ $before -eq $after ]] || fail "step $step was finished and was done again"
  done <<< "$1"
  [[ $(grep -c '^ship.* order 17: .* shipped$' "$effects") -eq 8 ]] ||
    fail "8 parcels were to be shipped, each once"
  echo "No step that was finished was done again, and all 8 parcels are shipped."
}

demo() {
  local finished
  rm -rf "$folder"
  mkdir -p "$folder/keys"
  export PATH="$bin:$PATH" HOLDFAST_STORE="$store" QUICKSTART_FOLDER="$folder"

  say "an order: it is charged at the third attempt, and then somebody must approve it"
  printf '\n$ %s\n' "$setting"
  run 0 cat examples/quickstart/order.yaml
  run 6 holdfast run examples/quickstart/order.yaml --until-blocked --key order-17 --input \
    '{"order":"17","total":5000,"parcels":["tea","cups","pot","jam","milk","sugar","cake","forks"]}'

  say "why does it not go on?"
  run 0 holdfast explain latest
  run 0 holdfast approve latest --actor you --comment 'They always pay.'

  say "8 parcels, two at a time, and the power fails"
  work_and_be_killed
  cp "$effects" "$effects.killed"
  finished="$(finished_steps)"
  grep -q '^ship\[' <<< "$finished" || fail "no parcel was finished before the kill"
  [[ $'\n'"$finished"$'\n' != *$'\nship\n'* ]] || fail "everything was shipped before the kill"

  say "what it left: the parcels that were under way are free again when their leases are over"
  run 0 holdfast explain latest

  say "start again: it goes on where it was"
  run 0 holdfast work --drain

  say "what the steps did outside, and the proof that no finished step was done again"
  run 0 cat "$effects"
  echo
  prove "$finished"

  say "an order that cannot be shipped: the money is given back, and the run fails (exit code 1)"
  run 1 holdfast run examples/quickstart/order.yaml --key order-18 --input \
    '{"order":"18","total":50,"parcels":["anvil"]}'
  run 0 holdfast graph latest
  [[ $(lines "$effects" 'refund order 18:') -eq 1 ]] || fail "order 18 was not refunded once"

  say "the first order once more"
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
  holdfast explain latest --at r3            (as it was at its third revision)
  holdfast diff latest --from r3
  holdfast status
  holdfast doctor
  holdfast journal verify $store    (proves every byte)
  holdfast --help

  docs/guide/README.md                       (ten minutes with Holdfast)
  examples/README.md                         (whole programs to copy)
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
[[ -x "$program" ]] || fail "there is no $program; run this without --demo-only first"
bin="$(cd "$(dirname "$program")" && pwd)"
store="sqlite:$folder/orders.db"
effects="$folder/effects.txt"
setting="export PATH=$bin:\$PATH HOLDFAST_STORE=$store"
readonly program folder bin store effects setting
demo
next
