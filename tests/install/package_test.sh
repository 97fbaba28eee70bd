#!/usr/bin/env bash
# package_test.sh FOLDER [SUITE...]: installs the .deb that lies in FOLDER on bare systems (debootstrap, chroot) by the steps
# of the last stage of Containerfile, and uses it there as an ordinary user would; unpacks the .tar.gz elsewhere, too.
# SUITES: bookworm (Debian 12), noble (Ubuntu 24.04); both unless given. Bare systems are kept in FOLDER/roots.
# Needs root and the network.
set -euo pipefail
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd -P)
source=${here%/tests/install}
folder=$(cd -- "$1" && pwd -P)
shift
[[ $# -gt 0 ]] || set -- bookworm noble
[[ $EUID -eq 0 ]] || { echo "error: chroot needs root" >&2; exit 3; }
# The mounts below go away with this process.
[[ -n ${COALESCE_UNSHARED-} ]] || COALESCE_UNSHARED=1 exec unshare --mount --pid --fork --kill-child "$0" "$folder" "$@"
mkdir -p "$folder/roots"
exec 9>"$folder/roots/.lock"
flock 9

fail() { echo "FAILED on $suite: $1" >&2; exit 1; }

# Ubuntu's keys: Debian 12 has no package of them.
ubuntu=https://archive.ubuntu.com/ubuntu
ubuntu_keys() {
  local deb=ubuntu-keyring_2023.11.28.1_all.deb keys=$folder/roots/keys
  [[ -d $keys ]] && return
  curl -fsS -o "$folder/roots/$deb" "$ubuntu/pool/main/u/ubuntu-keyring/$deb"
  sha256sum --quiet -c <<<"36de43b15853ccae0028e9a767613770c704833f82586f28eb262f0311adb8a8  $folder/roots/$deb"
  dpkg-deb -x "$folder/roots/$deb" "$keys"
}

# bare SUITE: makes $folder/roots/SUITE once.
bare() {
  local base=$folder/roots/$1
  [[ ! -e $base.made ]] || return 0
  rm -rf "$base"
  case $1 in
    noble)
      ubuntu_keys
      # debootstrap of Debian 12 does not know its name; all its releases are made alike.
      debootstrap --variant=minbase --components=main,universe \
        --keyring="$folder/roots/keys/usr/share/keyrings/ubuntu-archive-keyring.gpg" noble "$base" "$ubuntu" gutsy
      echo "deb $ubuntu noble-updates main universe" >>"$base/etc/apt/sources.list"
      # apt there cannot check https before it has certificates; packages are signed.
      sed -i 's/https:/http:/' "$base/etc/apt/sources.list"
      ;;
    *) debootstrap --variant=minbase "$1" "$base" http://deb.debian.org/debian ;;
  esac
  touch "$base.made"
}

in_root() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive "$@"; }
# An ordinary user, in a home of its own.
user() { chroot --userspec=1234:1234 "$root" /usr/bin/env -i HOME=/home/user PATH=/usr/bin:/bin sh -c "cd /home/user; $1"; }

# The steps of the last stage of Containerfile.
stage() {
  local steps word rest
  steps=$(sed -e ':join; /\\$/ { N; s/\\\n */ /; b join }' -e '/^#/d' "$source/Containerfile" | tac | sed '/^FROM/q' | tac)
  while read -r word rest; do
    case $word in
      FROM | ENTRYPOINT | '') ;;
      COPY) [[ $rest == "--from=build /source/build-package/coalesce_*.deb /tmp/" ]] || fail "COPY $rest"
        cp "$folder"/coalesce_*.deb "$root/tmp" ;;
      RUN) in_root sh -ec "$rest" >"$root.log" 2>&1 || { tail -20 "$root.log" >&2; fail "RUN $rest"; } ;;
      WORKDIR) mkdir -p "$root$rest" ;;
      *) fail "Containerfile: this test does not know $word" ;;
    esac
  done <<<"$steps"
}

try() {
  in_root dpkg --audit | grep . && fail "dpkg --audit"
  in_root sh -c 'ldd /usr/bin/coalesce /usr/lib/coalesce/*.so*' | grep 'not found' && fail "a library is missing"
  install -d -o 1234 -g 1234 "$root/home/user"
  cp "$source"/examples/*.cu "$source/tests/python/module_test.py" "$root/home/user"
  # 32 lanes of each of 32768 stores touch a sector each: 1048576; tests/programs has the same by other means.
  user 'coalesce run --json t.json transpose.cu' >"$root.log" 2>&1 || { cat "$root.log" >&2; fail "coalesce run"; }
  grep -q '^transpose_naive .* 8.0x .* :9 stores$' "$root.log" || { cat "$root.log" >&2; fail "the table"; }
  grep -q '"transpose_naive(.*"global_store_sectors":1048576,' "$root/home/user/t.json" || fail "the counters"
  user 'coalesce run --engine native -q saxpy.cu' >/dev/null || fail "native code"
  local code=0
  user 'coalesce check -q race.cu' >/dev/null 2>&1 || code=$?
  [[ $code -eq 4 ]] || fail "coalesce check exits $code"
  # The best level that the CPU has is the one that is loaded.
  if [[ -d $root/usr/lib/coalesce/glibc-hwcaps ]]; then
    local best
    best=$(in_root /lib64/ld-linux-x86-64.so.2 --help | sed -n 's/^ *\(x86-64-v[34]\) (supported, searched)$/\1/p')
    best=${best%%$'\n'*}
    user "LD_DEBUG=libs coalesce run -q saxpy.cu" >"$root.log" 2>&1
    grep -q "calling init: .*/lib/coalesce/${best:+glibc-hwcaps/$best/}libcudart.so" "$root.log" ||
      fail "libcudart of ${best:-the first level} is not loaded"
  fi
  user 'bash -c ". /usr/share/bash-completion/completions/coalesce; complete -p coalesce"' >/dev/null || fail "completion"
  for file in zsh/vendor-completions/_coalesce fish/vendor_completions.d/coalesce.fish; do
    [[ -s $root/usr/share/$file ]] || fail "no completion in $file"
  done
  in_root sh -ec 'apt-get update; apt-get install -y --no-install-recommends man-db python3-minimal python3' >"$root.log" 2>&1 ||
    { tail -20 "$root.log" >&2; fail "man-db and python3 cannot be installed"; }
  user 'man coalesce' >"$root.log" || fail "man coalesce"
  grep -q -- --write-budget "$root.log" || fail "the manual page"
  user 'python3 -c "import coalesce; print(coalesce.run([\"transpose.cu\"])[0].counters[\"global_store_sectors\"])"' |
    grep -qx 1048576 || fail "the Python module"
  # The tree that may lie anywhere.
  mkdir "$root/home/user/a folder"
  tar -xzf "$folder"/coalesce-*.tar.gz -C "$root/home/user/a folder" --strip-components=1
  in_root apt-get purge -y coalesce >/dev/null 2>&1
  in_root sh -c 'find / -xdev -path /proc -prune -o -path /home -prune -o -name "*coalesce*" -print' | grep -v '^/work$' | grep . && fail "purge left files"
  user '"a folder/bin/coalesce" run -q --json t.json transpose.cu' >/dev/null || fail "the tree that was moved"
  grep -q '"global_store_sectors":1048576,' "$root/home/user/t.json" || fail "counters of the tree that was moved"
}

for suite; do
  bare "$suite" >"$folder/roots-$suite.log" 2>&1 || { tail -5 "$folder/roots-$suite.log" >&2; fail "debootstrap"; }
  root=$folder/roots/$suite.used
  rm -rf "$root"
  cp -a --reflink=auto "$folder/roots/$suite" "$root"
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
  mount -t proc proc "$root/proc"
  mount --bind /dev "$root/dev"
  stage
  try
  umount "$root/proc" "$root/dev"
  rm -rf "$root" "$root.log"
  echo "$suite: installed, used and removed"
done
