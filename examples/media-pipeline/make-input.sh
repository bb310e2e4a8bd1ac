#!/bin/sh
# Creates COUNT (50) clips in clips/, and input.json, the input of a run.
# usage: ./make-input.sh [COUNT]
set -eu
cd "$(dirname "$0")"
count=${1:-50}
mkdir -p clips
number=0
list=
while [ "$number" -lt "$count" ]; do
  name=$(printf 'clip-%02d' "$number")
  # The content is arbitrary but the same each time.
  yes "frame of $name" | head -n $((200 + number * 10)) > "clips/$name.raw"
  list="$list${list:+,}\"$name\""
  number=$((number + 1))
done
printf '{"clips":[%s]}\n' "$list" > input.json
