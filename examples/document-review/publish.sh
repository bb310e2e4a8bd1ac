# Publishes a document. Publishing it twice leaves the same file.
# stdin: {"approved_by":"bob","document":"handbook","text":"..."}   stdout: {"file":"..."}
set -eu
input=$(cat)
document=$(printf '%s' "$input" | sed -n 's/.*"document":"\([^"]*\)".*/\1/p')
mkdir -p published
printf '%s\n' "$input" > "published/.$document.$$"
mv "published/.$document.$$" "published/$document.json"
printf '{"file":"published/%s.json"}\n' "$document"
