# The tools. stdin: {"argument":"Bergen","tool":"weather"}   stdout: {"text":"rain"}
set -eu
input=$(cat)
tool=$(printf '%s' "$input" | sed -n 's/.*"tool":"\([^"]*\)".*/\1/p')
argument=$(printf '%s' "$input" | sed -n 's/.*"argument":"\([^"]*\)".*/\1/p')

case $tool in
  weather)
    # The weather service does not respond to the first call.
    if [ "$HOLDFAST_ATTEMPT" -eq 1 ]; then
      exit 75
    fi
    case $argument in
      Bergen) text=rain ;;
      *) text=sun ;;
    esac ;;
  cupboard) text=none ;;
  shop)
    # An item is bought once: the file is named after the run, not after the attempt.
    mkdir -p bought
    echo "$argument" > "bought/$HOLDFAST_RUN_ID"
    text=new ;;
  *)
    echo '{"code":"no_such_tool","retryable":false}'
    exit 1 ;;
esac
printf '{"text":"%s"}\n' "$text"
