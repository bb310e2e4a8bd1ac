#!/bin/sh
# Makes COUNT (50) clips in clips/ and input.json, the input of a run.
# usage: ./make-input.sh [COUNT]
set -eu
cd "$(dirname "$0")"
count=${1:-50}
mkdir -p clips
number=0
list=
while [ "$number" -lt "$count" ]; do
  name=$(printf 'clip-%02d' "$number")
  # Any bytes will do, as long as they are the same each time.
  yes "frame of $name" | head -n $((200 + number * 10)) > "clips/$name.raw"
  list="$list${list:+,}\"$name\""
  number=$((number + 1))
done
printf '{"clips":[%s]}\n' "$list" > input.json
