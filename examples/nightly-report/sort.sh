# Sorts the collected sales, largest amount first.
# stdin: {"day":"2026-11-16"}   stdout: {"lines":12}
set -eu
day=$(sed -n 's/.*"day":"\([^"]*\)".*/\1/p')
cat "collected/$day/"*.csv | sort -t, -k2,2nr -k1,1 > "collected/$day/.sorted.$$"
mv "collected/$day/.sorted.$$" "collected/$day/sorted"
printf '{"lines":%d}\n' "$(wc -l < "collected/$day/sorted")"
