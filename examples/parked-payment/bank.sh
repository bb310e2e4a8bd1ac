# The bank: it declines expired cards, and charges once per idempotency key.
order=$(cat)
case $order in
  *'"card":"expired"'*)
    echo "the card is expired" >&2
    exit 1
    ;;
esac
echo "$HOLDFAST_IDEMPOTENCY_KEY" >> charged.txt
printf '{"charged":true}'
