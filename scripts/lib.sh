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

# What a package brings, where no dpkg says whether it is there, and what others call it.
# Debian, Ubuntu | how it is seen | Fedora, RHEL | SUSE (one word: the same in all)
package_table() {
  cat <<'TABLE'
g++                 | program g++                | gcc-c++                | gcc-c++
gcc                 | program cc                 | gcc                    | gcc
cmake               | program cmake              | cmake                  | cmake
ninja-build         | program ninja              | ninja-build            | ninja
pkg-config          | program pkg-config         | pkgconf-pkg-config     | pkg-config
libibverbs-dev      | header infiniband/verbs.h  | rdma-core-devel        | rdma-core-devel
librdmacm-dev       | header rdma/rdma_cma.h     | rdma-core-devel        | rdma-core-devel
zlib1g-dev          | header zlib.h              | zlib-devel zlib-static | zlib-devel-static
liblzma-dev         | header lzma.h              | xz-devel xz-static     | xz-devel xz-static-devel
nlohmann-json3-dev  | header nlohmann/json.hpp   | json-devel             | nlohmann_json-devel
libcli11-dev        | header CLI/CLI.hpp         | cli11-devel            | cli11-devel
python3-minimal     | program python3            | python3                | python3
python3             | program python3            | python3                | python3
make                | program make               | make                   | make
m4                  | program m4                 | m4                     | m4
dpkg-dev            | program dpkg-source        | dpkg-dev               | dpkg
ca-certificates     | file /etc/ssl/certs        | ca-certificates        | ca-certificates
ibverbs-providers   | file /usr/lib*/libibverbs/librxe-rdmav*.so | libibverbs | libibverbs
ibverbs-utils       | program ibv_devices        | libibverbs-utils       | libibverbs-utils
rdmacm-utils        | program rping              | librdmacm-utils        | librdmacm-utils
perftest            | program ib_send_bw         | perftest               | perftest
libgtest-dev        | header gtest/gtest.h       | gtest-devel            | gtest
libgmock-dev        | header gmock/gmock.h       | gmock-devel            | gmock
libbenchmark-dev    | header benchmark/benchmark.h | google-benchmark-devel | benchmark-devel
clang               | program clang++            | clang                  | clang
fio                 | program fio                | fio                    | fio
valgrind            | program valgrind           | valgrind               | valgrind
libjemalloc2        | file /usr/lib*/libjemalloc.so.2 | jemalloc          | libjemalloc2
libtcmalloc-minimal4 | file /usr/lib*/libtcmalloc_minimal.so.4 | gperftools-libs | libtcmalloc4
libheaptrack        | program heaptrack          | heaptrack              | heaptrack
heaptrack           | program heaptrack          | heaptrack              | heaptrack
patch               | program patch              | patch                  | patch
python3-pyverbs     | python pyverbs             | python3-pyverbs        | python3-pyverbs
python3-jsonschema  | python jsonschema          | python3-jsonschema     | python3-jsonschema
python3-pytest      | python pytest              | python3-pytest         | python3-pytest
libxml2-utils       | program xmllint            | libxml2                | libxml2-tools
chromium            | program chromium           | chromium               | chromium
nodejs              | program node               | nodejs                 | nodejs
npm                 | program npm                | npm                    | npm
man-db              | program man                | man-db                 | man
mandoc              | program mandoc             | mandoc                 | mandoc
bash-completion     | file /usr/share/bash-completion/bash_completion | bash-completion | bash-completion
zsh                 | program zsh                | zsh                    | zsh
fish                | program fish               | fish                   | fish
qemu-system-x86     | program qemu-system-x86_64 | qemu-system-x86-core   | qemu-x86
busybox-static      | program busybox            | busybox                | busybox-static
kmod                | program modprobe           | kmod                   | kmod
cpio                | program cpio               | cpio                   | cpio
xz-utils            | program xz                 | xz                     | xz
iproute2            | program rdma               | iproute                | iproute2
debootstrap         | program debootstrap        | debootstrap            | debootstrap
TABLE
}

package_row() { # PACKAGE COLUMN
  package_table | awk -F ' *[|] *' -v name="$1" -v column="$2" '$1 == name { sub(/ +$/, "", $column); print $column }'
}

has_dpkg() { command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; }

is_installed() { # PACKAGE
  if has_dpkg; then
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
    return
  fi
  local how what
  read -r how what <<<"$(package_row "$1" 2)"
  case $how in
    program) PATH=$PATH:/usr/sbin:/sbin command -v "$what" >/dev/null ;;
    header) [ -e "/usr/include/$what" ] || [ -e "/usr/local/include/$what" ] ;;
    file) compgen -G "$what" >/dev/null || compgen -G "${what/lib\*/lib/*}" >/dev/null ;;
    python) python3 -c "import $what" 2>/dev/null ;;
    *) false ;;
  esac
}

# Debian, Fedora, SUSE or nothing, by /etc/os-release.
family_of_system() { # OS-RELEASE
  local words
  words=$(. "${1:-/etc/os-release}" 2>/dev/null && echo "${ID-} ${ID_LIKE-}") || true
  case " $words " in
    *" debian "* | *" ubuntu "*) echo Debian ;;
    *" fedora "* | *" rhel "* | *" centos "*) echo Fedora ;;
    *" suse "* | *" opensuse"* | *" sles "*) echo SUSE ;;
  esac
}

# The command that installs these packages on such a system.
install_command() { # FAMILY PACKAGE...
  local column=1 command="apt-get install --no-install-recommends"
  case $1 in
    Fedora) column=3 command="dnf install" ;;
    SUSE) column=4 command="zypper install" ;;
  esac
  shift
  local package row
  echo "$command" $(for package; do row=$(package_row "$package" "$column"); echo "${row:-$package}"; done | tr ' ' '\n' | awk 'NF && !seen[$0]++')
}

# Says how somebody gets what we cannot install, and ends.
ask_for_packages() { # PACKAGE...
  local family
  family=$(family_of_system)
  if [ -n "$family" ]; then
    die "please install first: sudo $(install_command "$family" "$@")"
  fi
  say "please install first what is called"
  for family in Debian Fedora SUSE; do
    say "  on $(case $family in Debian) echo 'Debian, Ubuntu' ;; Fedora) echo 'Fedora, RHEL' ;; *) echo SUSE ;; esac):" \
      "$(install_command "$family" "$@")"
  done
  die "then run this again"
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

# Installs what is missing. Each argument is PACKAGE:why, and the reason is printed. As root, where there is apt; else it
# says what to install.
need_packages() {
  local item missing=()
  for item in "$@"; do
    is_installed "${item%%:*}" && continue
    missing+=("${item%%:*}")
    say "needs ${item%%:*} (${item#*:})"
  done
  [ ${#missing[@]} -eq 0 ] && return
  if ! has_dpkg || [ "$(id -u)" != 0 ]; then
    ask_for_packages "${missing[@]}"
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
    "liblzma-dev:reads packed symbols (.gnu_debugdata)" \
    "nlohmann-json3-dev:reports are written with it" \
    "libcli11-dev:the command's arguments" \
    "python3-minimal:checks that the build runs" \
    "make:builds libunwind and elfutils" \
    "m4:configures elfutils" \
    "ca-certificates:archives behind https" \
    "$@"
}

# The source packages that scripts/build-deps builds from are unpacked with it.
packages_build_deps() {
  ! has_dpkg || need_packages "dpkg-dev:unpacks source packages"
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
    "heaptrack:docs/comparison.md" \
    "patch:docs/tutorial" \
    "xz-utils:packs symbols for a unit test" \
    "python3:test scripts" \
    "python3-pyverbs:rdma-core's own tests" \
    "python3-jsonschema:reports against their schema" \
    "python3-pytest:tests/users, docs/ci/conftest.py" \
    "man-db:tests/install reads the manual pages" \
    "mandoc:tests/install checks the manual pages" \
    "bash-completion:tests/install completes in bash" \
    "zsh:tests/install completes in it" \
    "fish:tests/install completes in it" \
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
  local origin=Debian keyring=/usr/share/keyrings/debian-archive-keyring.gpg signed=
  if grep -qx 'ID=ubuntu' /etc/os-release 2>/dev/null; then
    origin=Ubuntu keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
  fi
  [ -e "$keyring" ] && signed="[signed-by=$keyring] "
  local format="$1 $signed\$(REPO_URI) \$(RELEASE) \$(COMPONENT)"
  local lines
  lines=$(apt-get indextargets --format "$format" 'Created-By: Packages' "Origin: $origin" | sort -u)
  if [ -z "$lines" ]; then
    # apt knows an archive's origin only once its lists are here.
    [ "$(id -u)" = 0 ] || die "no package lists here: run 'apt-get update' as root first"
    make_cache
    apt_update
    lines=$(apt-get indextargets --format "$format" 'Created-By: Packages' "Origin: $origin" | sort -u)
  fi
  [ -n "$lines" ] || die "no $origin archive among apt's sources"
  printf '%s\n' "$lines"
}

# Makes the root of a Debian release with these packages, unless it is there already, and prints its path.
debian_root() { # ROOTDIR SUITE [1: anew] PACKAGE,...
  local root=$1 suite=$2 again= packages mirror started=$SECONDS
  [ $# = 3 ] || { again=$3; shift; }
  packages=$3
  debian_root_is_made() { [ -z "$again" ] && [ "$(cat "$root/.made-of" 2>/dev/null)" = "$packages" ]; }
  if ! debian_root_is_made; then
    lock_for_me "root-${root##*/}"
  fi
  if ! debian_root_is_made; then
    [ "$(id -u)" = 0 ] || die "debootstrap needs root: run '$0' as root once"
    need_packages "debootstrap:makes the root" "debian-archive-keyring:checks its packages"
    mirror=$(debian_mirror)
    say "making a root of $suite (once, a minute or two)"
    rm -rf "$root" "$root.new"
    mkdir -p "$root.new"
    quietly "root-${root##*/}" debootstrap --variant=minbase --include="$packages" \
      --keyring=/usr/share/keyrings/debian-archive-keyring.gpg "$suite" "$root.new" "$mirror"
    rm -rf "$root.new"/var/cache/apt/archives/*.deb "$root.new"/var/lib/apt/lists/*
    echo "$packages" >"$root.new/.made-of"
    mv -T "$root.new" "$root"
    say "made $suite in $((SECONDS - started)) s"
  fi
  echo "$root"
}

# The archive where this machine's own release comes from has the others too.
debian_mirror() {
  local mirror
  mirror=$(distribution_sources deb | sed -n 's/^deb \(\[.*\] \)\?\([^ ]*\) [a-z]* main$/\2/p' | head -n1)
  [ -n "$mirror" ] || die "no Debian archive among apt's sources"
  echo "$mirror"
}
