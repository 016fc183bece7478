#!/bin/sh
# Brings node_modules to what package-lock.json says, with npm or with Bun alone, and makes sure that both runtimes run.
# Silent when there is nothing to do.
set -eu
cd "$(dirname "$0")/../.."

stamp=node_modules/.installed-package-lock.json
lock=.installing

main() {
  is_installed && return
  take_lock
  # The holder of the lock may have done the work.
  if ! is_installed; then
    echo 'Installing packages …'
    install_packages
    repair_runtime bun node_modules/bun/install.js
    repair_runtime deno node_modules/deno/install.cjs
    cp package-lock.json "$stamp"
  fi
  drop_lock
}

is_installed() {
  cmp -s package-lock.json "$stamp" && runs bun && runs deno
}

# Without a PATH, so that a stand-in that needs Node.js does not pass for the program itself.
runs() {
  PATH= "node_modules/.bin/$1" --version >/dev/null 2>&1
}

install_packages() {
  # Started afresh after an interrupted installation, and for a copy from another kind of machine.
  if ! [ -f node_modules/.package-lock.json ] || cmp -s package-lock.json "$stamp"; then rm -rf node_modules; fi
  log=$(mktemp)
  # An account without a usable home still installs.
  if ! [ -w "${HOME:-/nonexistent}" ]; then
    HOME=$(mktemp -d)
    export HOME
    borrowed_home=$HOME
  fi
  # The tools are development dependencies, which NODE_ENV=production or a setting of the user would leave out.
  if command -v npm >/dev/null 2>&1; then
    # `npm ci` would refuse a lock file made where a registry lacks the packages for other platforms; this takes the same
    # versions from it, and leaves it alone.
    # No package's own script runs: what the runtimes need of theirs is done below, PostgreSQL's links are made at its start.
    set -- npm install --ignore-scripts --no-save --no-audit --no-fund --include=dev --include=optional --loglevel=error
  elif command -v bun >/dev/null 2>&1; then
    # Bun reads package-lock.json where it finds no lock file of its own; it shall not write one beside it.
    set -- env NODE_ENV=development bun install --no-save --no-progress
  else
    fail 'neither npm nor bun is here: install Node.js (with npm) or Bun'
  fi
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    fail "$1 could not install the packages"
  fi
  rm -f "$log"
}

# npm and Bun may be told to skip install scripts, and these two put the real programs into place in theirs.
repair_runtime() {
  runs "$1" && return
  if command -v node >/dev/null 2>&1; then node "$2" >/dev/null 2>&1 || :; else bun "$2" >/dev/null 2>&1 || :; fi
  runs "$1" || fail "$1 does not run: delete node_modules and start again"
}

# A directory is made by one only. It names its owner, so that the lock of a killed one can be told from a live one's.
take_lock() {
  empty_for=0
  until mkdir "$lock" 2>/dev/null; do
    [ -w . ] || fail "cannot write to $(pwd)"
    owner=$(cat "$lock/pid" 2>/dev/null || :)
    if [ -z "$owner" ]; then empty_for=$((empty_for + 1)); else empty_for=0; fi
    if [ "$empty_for" -gt 5 ] || { [ -n "$owner" ] && ! is_alive "$owner"; }; then
      remove_stale_lock "$owner"
    else
      sleep 1
    fi
  done
  trap drop_lock EXIT
  trap 'exit 130' INT
  trap 'exit 143' TERM HUP
  echo $$ >"$lock/pid"
}

is_alive() {
  kill -0 "$1" 2>/dev/null || [ -d "/proc/$1" ]
}

# Only one process can rename the lock. If it moved the fresh lock of a faster process away, it puts it back.
remove_stale_lock() {
  aside="$lock.$$"
  mv "$lock" "$aside" 2>/dev/null || return 0
  if [ "$(cat "$aside/pid" 2>/dev/null || :)" != "$1" ]; then
    mv "$aside" "$lock"
    return 0
  fi
  rm -rf "$aside"
  empty_for=0
}

drop_lock() {
  trap - EXIT
  rm -rf "$lock" ${borrowed_home:+"$borrowed_home"}
}

fail() {
  echo "$1" >&2
  exit 1
}

case "${1-}" in
  --help | -h)
    echo 'usage: npm run setup'
    echo 'Brings node_modules to what package-lock.json says. npm start and npm test do it by themselves.'
    ;;
  *) main ;;
esac
