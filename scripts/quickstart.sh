#!/usr/bin/env bash
# From a fresh Debian 12 to a first journal: installs what a build needs, builds Holdfast, and
# appends, verifies and prints a small journal in build/quickstart/first.db.
set -euo pipefail

cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly holdfast=build/release/bin/holdfast
readonly file=build/quickstart/first.db
readonly store="sqlite:$file"

say() { printf '\n== %s\n' "$*"; }

# Shows a command as it can be typed, then runs it.
run() {
  printf '\n$ %s' "$holdfast"
  local argument
  for argument in "$@"; do
    if [[ "$argument" =~ ^[A-Za-z0-9_:/.,=-]+$ ]]; then
      printf ' %s' "$argument"
    else
      printf " '%s'" "$argument"
    fi
  done
  printf '\n'
  "$holdfast" "$@"
}

say "packages"
./scripts/install_packages.sh build

say "build (Release; the first time takes a few minutes)"
cmake --preset release > /dev/null
cmake --build --preset release --target holdfast

say "a new journal: every fact is on disk before the command returns"
rm -rf build/quickstart
mkdir -p build/quickstart
run journal append "$store" run:hello run_started '{"workflow":"hello"}'
run journal append "$store" dispatch:default attempt_scheduled '{"run":"hello","step":"greet"}'
run journal append "$store" run:hello runnable_applied '{"step":"greet","result":"hi"}'
run journal append "$store" run:hello run_terminal '{"status":"completed"}' --expected-rev 2

say "a writer with an old view of a thread is refused, and nothing is written"
code=0
run journal append "$store" run:hello run_terminal '{"status":"failed"}' --expected-rev 2 || code=$?
echo "exit code $code"
if [[ $code -ne 4 ]]; then
  echo "quickstart: expected exit code 4, conflict" >&2
  exit 1
fi

say "proof that no byte has changed"
run journal verify "$store"

say "what it holds"
run journal cat "$store"
run journal stat "$store"

say "done; try next, in $PWD"
cat << END
  $holdfast journal cat $store --thread run:hello
  $holdfast journal cat $store --follow          (append from another terminal; Ctrl-C ends)
  $holdfast journal export $store build/quickstart/first.jsonl
  $holdfast journal copy $store sqlite:build/quickstart/second.db
  $holdfast journal --help
  sqlite3 $file 'SELECT * FROM entries'
  ./scripts/test.sh                             (every test)
END
