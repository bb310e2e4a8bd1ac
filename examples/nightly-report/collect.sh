# Copies the sales of one shop into the folder of the day.
# stdin: {"shop":"north","day":"2026-11-16"}   stdout: {"shop":"north","lines":4}
set -eu
input=$(cat)
shop=$(printf '%s' "$input" | sed -n 's/.*"shop":"\([^"]*\)".*/\1/p')
day=$(printf '%s' "$input" | sed -n 's/.*"day":"\([^"]*\)".*/\1/p')

# The line to the shop in the south is bad. Exit code 75 says: not now, try again.
if [ "$shop" = south ] && [ "$HOLDFAST_ATTEMPT" -lt 3 ]; then
  echo "no line to $shop at attempt $HOLDFAST_ATTEMPT" >&2
  exit 75
fi

# A file that is there is whole: it gets its name when it is done. So this can be done twice.
mkdir -p "collected/$day"
sed "s/\$/,$shop/" "data/$shop.csv" > "collected/$day/.$shop.$$"
mv "collected/$day/.$shop.$$" "collected/$day/$shop.csv"
printf '{"shop":"%s","lines":%d}\n' "$shop" "$(wc -l < "collected/$day/$shop.csv")"
