# Copies the sales of one shop into the folder of the day.
# stdin: {"shop":"north","day":"2026-11-16"}   stdout: {"shop":"north","lines":4}
set -eu
input=$(cat)
shop=$(printf '%s' "$input" | sed -n 's/.*"shop":"\([^"]*\)".*/\1/p')
day=$(printf '%s' "$input" | sed -n 's/.*"day":"\([^"]*\)".*/\1/p')

# The connection to the shop in the south is bad. Exit code 75 means: try again later.
if [ "$shop" = south ] && [ "$HOLDFAST_ATTEMPT" -lt 3 ]; then
  echo "no line to $shop at attempt $HOLDFAST_ATTEMPT" >&2
  exit 75
fi

# The file receives its name when it is complete, so executing this twice is harmless.
mkdir -p "collected/$day"
sed "s/\$/,$shop/" "data/$shop.csv" > "collected/$day/.$shop.$$"
mv "collected/$day/.$shop.$$" "collected/$day/$shop.csv"
printf '{"shop":"%s","lines":%d}\n' "$shop" "$(wc -l < "collected/$day/$shop.csv")"
