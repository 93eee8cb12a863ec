#!/usr/bin/env bash
# The jobs of `pawl conformance`, for the worker in a shell.
. "$(dirname "$0")/pawl-worker.sh"

draw() { printf '"%s"' "$RANDOM-$(date +%s%N)"; }

handle() {
  local drawn input
  case "$1" in
    conformance-echo) cat ;;
    conformance-draw)
      drawn="$(step draw draw)" || return
      [ "$PAWL_ATTEMPT" -gt 1 ] || { fail EAGAIN 'not yet'; return 1; }
      printf '{"drawn":%s}' "$drawn"
      ;;
    conformance-fail)
      input="$(cat)"
      fail "$(jq -r .code <<<"$input")" "$(jq -r .message <<<"$input")"
      return 65
      ;;
    conformance-nap)
      input="$(cat)"
      sleep "$(jq '.ms / 1000' <<<"$input")"
      printf '{"napped":%s}' "$(jq .ms <<<"$input")"
      ;;
  esac
}

pawl_work conformance-echo conformance-draw conformance-fail conformance-nap
