# Writes the report.
# stdin: {"day":"2026-11-16","lines":12}
# stdout: {"file":"reports/2026-11-16.txt","lines":12,"total":3456}
set -eu
input=$(cat)
day=$(printf '%s' "$input" | sed -n 's/.*"day":"\([^"]*\)".*/\1/p')
lines=$(printf '%s' "$input" | sed -n 's/.*"lines":\([0-9]*\).*/\1/p')
total=0
mkdir -p reports
{
  echo "Sales of $day"
  while IFS=, read -r product amount shop; do
    total=$((total + amount))
    printf '%-10s %-6s %6d\n' "$product" "$shop" "$amount"
  done
  printf '%-17s %6d\n' total "$total"
} < "collected/$day/sorted" > "reports/.$day.$$"
mv "reports/.$day.$$" "reports/$day.txt"
printf '{"file":"reports/%s.txt","lines":%d,"total":%d}\n' "$day" "$lines" "$total"
