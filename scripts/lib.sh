# Shared by the scripts of this folder: `. "$(dirname "$0")/lib.sh"` after `set -eu`.
# Functions only; sourcing it changes nothing on the machine.

# The folder of the checkout, and the one where what is built once is kept.
project=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
cache=${RDMACHECK_CACHE:-$project/.deps}

# Progress goes to standard error: the standard output of a script is its result.
say() { printf '%s: %s\n' "${0##*/}" "$*" >&2; }

die() {
  say "$*"
  exit 2
}

# The cache hides itself from git.
make_cache() {
  mkdir -p "$cache/log"
  [ -e "$cache/.gitignore" ] || echo '*' >"$cache/.gitignore"
}

# Runs a command silently; shows the end of what it said only if it fails.
quietly() { # NAME COMMAND...
  local log=$cache/log/$1
  shift
  make_cache
  if ! "$@" >"$log" 2>&1 </dev/null; then
    tail -n 40 "$log" >&2
    die "failed: $* (all of it: $log)"
  fi
}

# Takes a lock for the rest of the script, so that two scripts started at once
# build or fetch a thing once. The lock goes with the process, however it ends.
lock_for_me() { # NAME
  local fd
  make_cache
  mkdir -p "$cache/locks"
  exec {fd}>"$cache/locks/$1"
  if ! flock -n "$fd"; then
    say "waiting for another script that prepares $1"
    flock "$fd"
  fi
}

is_installed() { # PACKAGE
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# apt with a bounded patience for somebody else's lock. `update` does not wait
# for its lock by itself, hence the loop.
apt_get() {
  DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
    -o DPkg::Lock::Timeout=600 -o Dpkg::Use-Pty=0 "$@" </dev/null >>"$cache/log/apt" 2>&1
}

apt_update() {
  local try
  for try in 1 2 3 4 5 6; do
    apt_get update && return
    sleep $((try * 5))
  done
  tail -n 20 "$cache/log/apt" >&2
  die "'apt-get update' failed: is the network there, and /etc/apt in order?"
}

# Installs what is missing. Each argument is PACKAGE:why, and the reason is printed.
need_packages() {
  local item missing=()
  for item in "$@"; do
    is_installed "${item%%:*}" && continue
    missing+=("${item%%:*}")
    say "needs ${item%%:*} (${item#*:})"
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! command -v apt-get >/dev/null; then
    die "no apt-get here: install what Debian calls ${missing[*]}, then run this again"
  fi
  if [ "$(id -u)" != 0 ]; then
    die "not root, so please run first: sudo apt-get install --no-install-recommends ${missing[*]}"
  fi
  make_cache
  say "installing ${#missing[@]} packages"
  # The lists may be missing (a fresh root) or older than the archive, so a
  # failure is worth one update and one more try.
  if ! apt_get install "${missing[@]}"; then
    say "once more with fresh package lists"
    apt_update
    if ! apt_get install "${missing[@]}"; then
      tail -n 20 "$cache/log/apt" >&2
      die "apt-get cannot install ${missing[*]} (all of it: $cache/log/apt)"
    fi
  fi
}

# What a build from a checkout needs, and what the tests need beyond it.
packages_build() {
  need_packages \
    "g++:the compiler" \
    "cmake:the build" \
    "ninja-build:the build" \
    "pkg-config:finds libraries for the build" \
    "libibverbs-dev:the verbs that we intercept" \
    "librdmacm-dev:the rdma_cm calls that we intercept" \
    "zlib1g-dev:reads compressed debug information" \
    "nlohmann-json3-dev:reports are written with it" \
    "libcli11-dev:the command's arguments" \
    "python3-minimal:checks that the build runs"
}

packages_test() {
  need_packages \
    "libgtest-dev:unit tests" \
    "libgmock-dev:unit tests" \
    "libbenchmark-dev:tests/bench" \
    "clang:users build with it too" \
    "ibverbs-providers:the soft RDMA provider" \
    "ibverbs-utils:programs to check" \
    "rdmacm-utils:programs to check" \
    "perftest:programs to check" \
    "fio:a program to check" \
    "valgrind:tests/hostile runs programs under it" \
    "libjemalloc2:tests/hostile, an allocator beside the library" \
    "libtcmalloc-minimal4:tests/hostile, an allocator beside the library" \
    "libheaptrack:tests/hostile, another preloaded checker" \
    "python3:test scripts" \
    "python3-pyverbs:rdma-core's own tests" \
    "python3-jsonschema:reports against their schema" \
    "libxml2-utils:JUnit reports against their schema" \
    "chromium:the HTML page in a browser"
  # A nodejs of another source brings npm along, and does not go with Debian's.
  if ! command -v npm >/dev/null; then
    need_packages "nodejs:runs the browser's test" "npm:SARIF's validator, axe-core and playwright-core"
  fi
  npm_test
  packages_vm
}

# What tests/forms takes from npm, once for each state of its package.json.
npm_test() {
  local folder=$cache/npm wanted=$project/tests/forms/package.json
  cmp -s "$wanted" "$folder/installed.json" && return
  say "what tests/forms needs from npm (a minute)"
  make_cache
  rm -rf "$folder"
  mkdir -p "$folder"
  cp "$wanted" "$folder/package.json"
  quietly npm npm --prefix "$folder" install --no-audit --no-fund --ignore-scripts --no-package-lock
  cp "$wanted" "$folder/installed.json"
}

# What scripts/rxe-vm needs. That script does not read this file (it is also
# installed alone), so it has the same list.
packages_vm() {
  need_packages \
    "qemu-system-x86:the guest" \
    "busybox-static:the guest's first programs" \
    "kmod:finds the guest's kernel modules" \
    "cpio:packs the guest's first file system" \
    "xz-utils:unpacks the guest's kernel" \
    "iproute2:adds the soft RDMA device in the guest"
}

# Writes a sources.list with the lines TYPE (deb or deb-src) for the archives of
# the distribution that this machine already uses. apt itself reads its .list
# and .sources files for us, and each archive's signed Release file says whose
# it is, so that third-party archives stay out.
distribution_sources() { # TYPE
  local keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed=
  [ -e "$keyring" ] && signed="[signed-by=$keyring] "
  local format="$1 $signed\$(REPO_URI) \$(RELEASE) \$(COMPONENT)"
  local lines
  lines=$(apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian' | sort -u)
  if [ -z "$lines" ]; then
    # apt knows an archive's origin only once its lists are here.
    [ "$(id -u)" = 0 ] || die "no package lists here: run 'apt-get update' as root first"
    make_cache
    apt_update
    lines=$(apt-get indextargets --format "$format" 'Created-By: Packages' 'Origin: Debian' | sort -u)
  fi
  [ -n "$lines" ] || die "no Debian archive among apt's sources"
  printf '%s\n' "$lines"
}
