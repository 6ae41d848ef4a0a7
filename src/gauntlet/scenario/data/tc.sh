#!/usr/bin/env bash
# Plays the link '@NAME@' with tc, in @STEPS@ steps. Needs root.
# Any of these can be set in the environment; TRAIN and TRACKSIDE are put before the commands of each side
# (for network namespaces: "ip netns exec NAME").
set -eu
RATE_UP="${RATE_UP:-@RATE_UP@}"          # interface that limits the rate, train to trackside
DELAY_UP="${DELAY_UP:-@DELAY_UP@}"       # interface that delays and loses, train to trackside
RATE_DOWN="${RATE_DOWN:-@RATE_DOWN@}"    # the same, trackside to train
DELAY_DOWN="${DELAY_DOWN:-@DELAY_DOWN@}"
TRAIN="${TRAIN:-@TRAIN@}"
TRACKSIDE="${TRACKSIDE:-@TRACKSIDE@}"
BURST_BYTES="${BURST_BYTES:-@BURST_BYTES@}"
begin_us=${EPOCHREALTIME/[.,]/}

# at INSTANT_US: waits until then, counted from the start, so that late steps do not delay later ones
at() {
  local left_us=$((begin_us + $1 - ${EPOCHREALTIME/[.,]/}))
  if ((left_us > 0)); then
    sleep "$(printf '%d.%06d' $((left_us / 1000000)) $((left_us % 1000000)))"
  fi
}

# link replace|change RATE_UP_BPS RATE_DOWN_BPS DELAY_UP_US DELAY_DOWN_US LOSS_UP_PERCENT LOSS_DOWN_PERCENT QUEUE_BYTES
link() {
  $TRAIN tc qdisc "$1" dev "$RATE_UP" root tbf rate "$2bit" burst "$BURST_BYTES" limit "$8"
  $TRACKSIDE tc qdisc "$1" dev "$RATE_DOWN" root tbf rate "$3bit" burst "$BURST_BYTES" limit "$8"
  # netem's own queue must not be what drops packets, hence its high limit
  $TRAIN tc qdisc "$1" dev "$DELAY_UP" root netem limit 100000 delay "$4us" loss "$6%"
  $TRACKSIDE tc qdisc "$1" dev "$DELAY_DOWN" root netem limit 100000 delay "$5us" loss "$7%"
}

