# Sourced by tests that end a program at a moment of their choice. Such a moment is a state of the program, never a
# time: it runs for a millisecond, stands still while its state is looked at, and runs on. So a quick machine is
# not too late, and a busy one not too early.

# stands PID: stopped, or ended.
stands() {
  local state
  state=$(sed -n 's/^State:\s*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) || true
  [[ -z $state || $state == [TZX] ]]
}
ended() {
  local state
  state=$(sed -n 's/^State:\s*\(.\).*/\1/p' "/proc/$1/status" 2>/dev/null) || true
  [[ -z $state || $state == [ZX] ]]
}
halt() {
  kill -STOP "$1" 2>/dev/null || true
  until stands "$1"; do :; done
}

# stopped COMMAND…: starts a command in the background that stands still before its first instruction; its number
# is $!. The caller redirects its output.
stopped() {
  kill -STOP "$BASHPID"
  exec "$@"
}

# step_until PID CONDITION…: lets it run until the condition holds, and stops it then; fails if it ended before.
step_until() {
  local pid=$1
  shift
  halt "$pid"
  until "$@"; do
    ended "$pid" && return 1
    kill -CONT "$pid"
    sleep 0.001
    halt "$pid"
  done
  ! ended "$pid"
}

# at_work PID SIGNAL TICKS: has a handler for the signal, and computed for so many hundredths of a second.
at_work() {
  local number caught times
  number=$(kill -l "$2")
  caught=$(sed -n 's/^SigCgt:\s*//p' "/proc/$1/status" 2>/dev/null)
  ((0x${caught:-0} >> (number - 1) & 1)) || return 1
  read -r -a times <<<"$(sed 's/.*) //' "/proc/$1/stat")"
  ((times[11] + times[12] >= $3))
}

# milliseconds_to COMMAND…
milliseconds_to() {
  local begin
  begin=$(date +%s%N)
  "$@" >/dev/null 2>&1 || true
  echo $((($(date +%s%N) - begin) / 1000000))
}

# patience PROGRAM: the milliseconds in which it must end: a second, and on a machine with other work what starting
# it twenty times takes.
patience() { echo $((1000 + 20 * $(milliseconds_to "$1" --version))); }

# ends PID SIGNAL: sends it to a stopped process, and waits; $code and $took are how and in how many milliseconds.
ends() {
  local begin
  code=0
  begin=$(date +%s%N)
  kill "-$2" "$1"
  kill -CONT "$1" 2>/dev/null || true
  wait "$1" || code=$?
  took=$((($(date +%s%N) - begin) / 1000000))
}
