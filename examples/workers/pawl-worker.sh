# A worker for Pawl in a shell: bash, curl and jq. Source it, define `handle`, and call `pawl_work TYPE…`:
#
#   . ./pawl-worker.sh
#   handle() { mail -s 'Hello' "$(jq -r .to)" <<<'…' && echo '{"sent":true}'; }
#   pawl_work mail
#
# `handle TYPE` is given the input on its standard input, as JSON text, and writes the output; $PAWL_ATTEMPT says which attempt it
# is. It may call `step NAME COMMAND…`: the output of the command, JSON, is recorded, and the next attempt is given it without another
# call. It ends with 0; with 65, and the job is not tried again; else it is tried again. `fail CODE MESSAGE` says why.
#
# PAWL_URL and PAWL_TOKEN say where the server is. A process of its own keeps the lease while the handler runs, and ends the handler
# when the lease is lost. Whatever is sent may be sent twice, if the answer was lost. What is large goes through files.
set -u -o pipefail

PAWL_WORKER="$(hostname)-$$-$(date +%s%N)"
PAWL_DIR="$(mktemp -d)"
PAWL_STOPPING=''

# post PATH BODY-FILE ANSWER-FILE TIMEOUT PATIENCE: repeats what failed on its way; 2: the server said no.
post() {
  local until=$((SECONDS + $5)) status pause=0.2
  while true; do
    status="$(curl --silent --max-time "$4" --output "$3" --write-out '%{http_code}' \
      --header 'content-type: application/json' --data-binary "@$2" \
      --header @<(printf 'authorization: Bearer %s' "${PAWL_TOKEN:-}") "${PAWL_URL%/}$1")" && {
      [ "$status" = 200 ] && jq --exit-status . "$3" >"$3.whole" 2>/dev/null && return 0
      [ "$status" -ge 400 ] && [ "$status" -lt 502 ] && [ "$(jq -r .kind "$3" 2>/dev/null)" != retryable ] && {
        cat "$3" >&2
        return 2
      }
    }
    [ "$SECONDS" -ge "$until" ] && return 1
    sleep "$pause"
    pause=1
  done
}

# report LEASE-FILE FILTER PATIENCE [jq options]: sends a command about a lease, and says how it was answered.
report() {
  local body answer
  body="$(mktemp -p "$PAWL_DIR")" answer="$(mktemp -p "$PAWL_DIR")"
  jq "${@:4}" --arg worker "$PAWL_WORKER" \
    "{commands: [({job, stage, segment, lease, worker: \$worker} + ($2))]}" "$1" >"$body" || return 2
  post /v1/commands "$body" "$answer" 10 "$3" || return
  jq -r '.answers[0].verdict' "$answer"
  rm -f "$body" "$answer"*
}

# keep LEASE-FILE HANDLER: the heartbeat, until it is killed. Ends the handler, which is a process group, with the lease.
keep() {
  local extension=0 lease_ms pause ends verdict
  lease_ms="$(jq .leaseMs "$1")"
  pause="$(jq -n "$lease_ms / 3000")"
  ends=$(($(date +%s%3N) + lease_ms))
  while sleep "$pause"; do
    extension=$((extension + 1))
    local asked_at
    asked_at="$(date +%s%3N)"
    if verdict="$(report "$1" "{type: \"ExtendLease\", extension: $extension}" 0)"; then
      [ "$verdict" = committed ] && ends=$((asked_at + lease_ms)) && continue
    elif [ "$(($(date +%s%3N)))" -lt "$((ends - lease_ms / 3))" ]; then continue; fi
    touch "$1.lost"
    kill -TERM -- "-$2" 2>/dev/null
    return
  done
}

step() {
  local name="$1" known value lease="$PAWL_LEASE"
  known="$(jq -r --arg name "$name" '.steps[] | select(.name == $name) | .value' "$lease")"
  [ -n "$known" ] && printf '%s\n' "$known" && return 0
  shift
  value="$(mktemp -p "$PAWL_DIR")"
  "$@" >"$value" || return
  [ "$(report "$lease" '{type: "RecordStep", name: $name, value: ($value | rtrimstr("\n")),
    definitionVersion: .version}' 30 --arg name "$name" --rawfile value "$value")" = committed ] || return
  cat "$value"
}

fail() {
  printf '%s\n' "$1" >"$PAWL_LEASE.code"
  printf '%s\n' "$2" >&2
}

# attempt LEASE-FILE: runs the handler, and reports how it ended.
attempt() {
  local lease="$1" code handler keeper filter
  export PAWL_LEASE="$lease" PAWL_ATTEMPT
  PAWL_ATTEMPT="$(jq .attempt "$lease")"
  # Effects of a commit are for workers that know them: this one gives such a job back.
  if [ -n "$PAWL_STOPPING" ] || [ "$(jq .commit "$lease")" != null ]; then
    report "$lease" '{type: "ReleaseLease"}' 5 >/dev/null
    return
  fi
  jq -j .input "$lease" >"$lease.input"
  set -m
  handle "$(jq -r .type "$lease")" <"$lease.input" >"$lease.output" 2>"$lease.error" &
  # By its number: a job that has ended already has no place in the list of jobs any more.
  handler="$!"
  PAWL_HANDLER="$handler"
  keep "$lease" "$handler" >/dev/null 2>&1 &
  keeper="$!"
  set +m
  wait "$handler"
  code=$?
  # A signal to the worker ends the waiting, and the handler with it.
  [ -n "$PAWL_STOPPING" ] && wait "$handler" 2>/dev/null
  PAWL_HANDLER=''
  if [ -e "$lease.lost" ]; then filter=''
  elif [ -n "$PAWL_STOPPING" ] && [ "$code" -ne 0 ]; then filter='{type: "ReleaseLease"}'
  elif [ "$code" -eq 0 ]; then
    filter='{type: "CommitExecution", output: ($output | rtrimstr("\n")), effects: []}'
  else
    filter='{type: "FailTask", error: {type: $type, code: $code, message: ($error | rtrimstr("\n") | .[0:2000]), stack: null}}'
  fi
  # The lease is kept until the report is answered.
  [ -z "$filter" ] || report "$lease" "$filter" 30 --rawfile output "$lease.output" --rawfile error "$lease.error" \
    --arg type "$([ "$code" -eq 65 ] && echo TERMINAL || echo RETRYABLE)" \
    --arg code "$(cat "$lease.code" 2>/dev/null || echo "Exit$code")" >/dev/null
  kill -TERM -- "-$keeper" 2>/dev/null
  wait 2>/dev/null
}

PAWL_HANDLER=''
PAWL_POLL=''
stop() {
  PAWL_STOPPING=yes
  [ -z "$PAWL_POLL" ] || kill "$PAWL_POLL" 2>/dev/null
  [ -z "$PAWL_HANDLER" ] || kill -TERM -- "-$PAWL_HANDLER" 2>/dev/null
}

# pawl_work TYPE…: takes jobs of these types, one at a time, until SIGTERM or SIGINT. Start it more than once for more.
pawl_work() {
  local request=0 body="$PAWL_DIR/claim" answer wait_ms
  trap stop TERM INT
  trap 'rm -rf "$PAWL_DIR"' EXIT
  while [ -z "$PAWL_STOPPING" ]; do
    request=$((request + 1))
    # The same number again gets the same leases again: a claim whose answer was lost is not lost.
    for wait_ms in 20000 0; do
      answer="$PAWL_DIR/claimed-$request-$wait_ms"
      jq -n --arg worker "$PAWL_WORKER" --argjson request "$request" --argjson wait "$wait_ms" \
        '{worker: $worker, request: $request, max: 1, started: true, waitMs: $wait,
          channels: [$ARGS.positional[] | {queue: "default", type: ., stage: null}]}' --args "$@" >"$body"
      # In the background: a signal would wait for a command in the foreground.
      post /v1/claims "$body" "$answer" 30 "$([ "$wait_ms" = 0 ] && echo 5 || echo 1000000000)" &
      PAWL_POLL=$!
      wait "$PAWL_POLL" && break
      [ -n "$PAWL_STOPPING" ] || return 1
    done
    PAWL_POLL=''
    jq -e '.claimed[0]' "$answer" >"$PAWL_DIR/lease" && attempt "$PAWL_DIR/lease"
    rm -f "$PAWL_DIR"/lease* "$PAWL_DIR"/claimed*
  done
}
