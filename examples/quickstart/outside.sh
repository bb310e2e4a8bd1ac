#!/bin/sh
# The outside world: every step of order.yaml calls this program. Each effect is a line in
# build/quickstart/effects.txt. The input is JSON on stdin; HOLDFAST_STEP and other variables
# identify the step.
set -eu

folder="${QUICKSTART_FOLDER:-build/quickstart}"
input="$(cat)"
value() { printf '%s' "$input" | sed -n "s/.*\"$1\":\"\{0,1\}\([^\",}]*\).*/\1/p"; }
order="$(value order)"
effect() { printf '%s order %s: %s\n' "$HOLDFAST_STEP" "$order" "$1" >> "$folder/effects.txt"; }

case "$HOLDFAST_STEP" in
  charge)
    if [ "$HOLDFAST_ATTEMPT" -lt 3 ]; then
      effect "the bank does not answer"
      echo '{"code": "bank_busy", "message": "the bank does not answer"}'
      exit 1
    fi
    effect "$(value total) charged"
    echo '{"receipt": "r-'"$order"'"}'
    ;;
  ship*)
    parcel="$(value parcel)"
    if [ "$parcel" = anvil ]; then
      effect "no carrier takes $parcel"
      echo '{"code": "too_heavy", "message": "no carrier takes an anvil", "retryable": false}'
      exit 1
    fi
    # If a worker is lost, the next one receives the same key: an effect under this key happens
    # once.
    key="$folder/keys/$(printf '%s' "$HOLDFAST_IDEMPOTENCY_KEY" | tr -c 'A-Za-z0-9\n' _)"
    sleep 0.5
    if mkdir "$key" 2> /dev/null; then
      effect "$parcel shipped"
    else
      effect "$parcel was shipped already, nothing to do"
    fi
    ;;
  refund)
    effect "money given back"
    ;;
esac
