# Counts the words of a document.
# stdin: {"text":"..."}   stdout: {"words":7}
set -eu
text=$(sed -n 's/^{"text":"\(.*\)"}$/\1/p')
words=$(printf '%s' "$text" | wc -w)
if [ "$words" -eq 0 ]; then
  echo '{"code":"empty","message":"there is nothing to review","retryable":false}'
  exit 1
fi
printf '{"words":%d}\n' "$words"
