#!/bin/sh
# Installs the packages of package-lock.json, with npm or with Bun alone, and makes sure that the
# packages of Bun and Deno run. Prints nothing if all packages are installed.
set -eu
cd "$(dirname "$0")/../.."

stamp=node_modules/.installed-package-lock.json
lock=.installing

main() {
  is_installed && return
  take_lock
  # The former holder of the lock may have done the work.
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

# The PATH is empty, so that a wrapper that needs Node.js does not pass for the program itself.
runs() {
  PATH= "node_modules/.bin/$1" --version >/dev/null 2>&1
}

install_packages() {
  # npm writes .package-lock.json last, and Bun never. So without this file, the packages are
  # incomplete or from Bun: start afresh. Also start afresh if the stamp fits but a runtime does not
  # run: such packages are for another kind of machine.
  if ! [ -f node_modules/.package-lock.json ] || cmp -s package-lock.json "$stamp"; then rm -rf node_modules; fi
  log=$(mktemp)
  # npm and Bun write into HOME, and some accounts have no usable home.
  if ! [ -w "${HOME:-/nonexistent}" ]; then
    HOME=$(mktemp -d)
    export HOME
    borrowed_home=$HOME
  fi
  # Bun and Deno are development dependencies, which NODE_ENV=production or a setting of the user
  # would leave out.
  if command -v npm >/dev/null 2>&1; then
    # `npm ci` refuses a lock file without the packages for other platforms. This command takes the
    # same versions from the file, and does not change the file. It runs no scripts of packages:
    # repair_runtime does the work of the runtimes' scripts, and the start makes PostgreSQL's links.
    set -- npm install --ignore-scripts --no-save --no-audit --no-fund --include=dev --include=optional --loglevel=error
  elif command -v bun >/dev/null 2>&1; then
    # Bun reads package-lock.json if it finds no lock file of its own, and must not write one.
    set -- bun install --no-save --no-progress
    export NODE_ENV=development
  else
    fail 'neither npm nor bun is installed: install Node.js (with npm) or Bun'
  fi
  if ! "$@" >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    fail "$1 could not install the packages: see the lines above"
  fi
  rm -f "$log"
}

# The install scripts of both runtimes put the real programs in place. npm skips these scripts, and
# Bun may skip them.
repair_runtime() {
  runs "$1" && return
  if command -v node >/dev/null 2>&1; then node "$2" >/dev/null 2>&1 || :; else bun "$2" >/dev/null 2>&1 || :; fi
  runs "$1" || fail "$1 does not run: delete node_modules and start again"
}

# The lock is a directory, since only one process can make it. A file in it names the owner, so that
# the lock of a killed process can be recognised. An owner writes this file at once. So a lock that
# has stayed empty for some seconds is also the lock of a killed process.
take_lock() {
  empty_for=0
  until mkdir "$lock" 2>/dev/null; do
    [ -w . ] || fail "cannot write to $(pwd): run this as the user who owns the folder"
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

# kill also fails for a live process of another user, and not every system has /proc.
is_alive() {
  kill -0 "$1" 2>/dev/null || [ -d "/proc/$1" ]
}

# Only one process can rename the stale lock. A slower process may rename the fresh lock that
# followed. It puts this lock back.
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
    echo 'Installs the packages of package-lock.json. npm start and npm test do it by themselves.'
    ;;
  *) main ;;
esac
