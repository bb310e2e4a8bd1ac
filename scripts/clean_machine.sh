#!/usr/bin/env bash
# Runs the two commands of the README on a clean Debian 12: creates a minimal root with
# debootstrap, clones this repository into it, and runs ./scripts/quickstart.sh and then
# ./scripts/test.sh there, as root.
#
# usage: clean_machine.sh [--keep] [--reuse] DIR
#   --keep   leave the used root in DIR/root
#   --reuse  keep the fresh root in DIR/base.tar, and start from it if it exists
#
# Needs root, debootstrap and git. Mirror, proxy and keys are those of this machine's apt.
# Everything runs in a separate mount and process namespace, so the mounts and processes of the
# script disappear when it ends, for whatever reason.
set -euo pipefail

readonly release=bookworm

fail() {
  echo "clean machine: $*" >&2
  exit 1
}

say() { echo "clean machine: $*"; }

usage() {
  sed -n '6,8s/^# //p' "${BASH_SOURCE[0]}" >&2
  exit 2
}

# The first mirror of this machine's apt that has the release.
mirror() {
  apt-get indextargets --format '$(SITE) $(RELEASE) $(CODENAME) $(COMPONENT)' \
    'Created-By: Packages' |
    awk -v release="$release" \
      '($2 == release || $3 == release) && $NF == "main" { print $1; exit }'
}

make_base() {
  local root=$1 site proxy=""
  site="$(mirror)"
  [[ -n "$site" ]] || fail "apt on this machine has no source for Debian $release"
  eval "$(apt-config shell proxy Acquire::http::Proxy)"
  if [[ -n "$proxy" && "$proxy" != DIRECT ]]; then
    export http_proxy="$proxy" https_proxy="$proxy"
  fi
  say "debootstrap $release"
  debootstrap --variant=minbase "$release" "$root" "$site" > "$root.log" 2>&1 ||
    fail "debootstrap failed; see $root.log"
  rm -f "$root.log"
}

# Gives apt and the network inside the same settings as outside.
copy_machine_settings() {
  local root=$1 item
  rm -f "$root/etc/apt/sources.list"
  for item in /etc/apt/. /usr/share/keyrings/. /etc/ssl/certs/. /etc/resolv.conf /etc/hosts; do
    if [[ -e "$item" ]]; then
      mkdir -p "$root$(dirname "$item")"
      cp -aL "$item" "$root$item" 2> /dev/null || true
    fi
  done
  # Packages must not start servers inside the root.
  printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d"
  chmod +x "$root/usr/sbin/policy-rc.d"
}

mount_system() {
  local root=$1
  mount -t proc proc "$root/proc"
  mount -t sysfs -o ro sysfs "$root/sys"
  mount --bind /dev "$root/dev"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$root/dev/pts"
  mount -t tmpfs tmpfs "$root/dev/shm"
}

in_root() {
  local root=$1
  shift
  env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
    chroot "$root" sh -c 'cd /srv/holdfast && exec "$@"' sh "$@" < /dev/null
}

# Runs inside the namespaces.
run_inside() {
  local dir=$1 repository=$2 reuse=$3
  local root="$dir/root"
  mkdir -p "$root"
  if [[ "$reuse" == yes && -f "$dir/base.tar" ]]; then
    say "unpacking $dir/base.tar"
    tar -C "$root" -xpf "$dir/base.tar"
  else
    make_base "$root"
    if [[ "$reuse" == yes ]]; then
      tar -C "$root" -cpf "$dir/base.tar.part" .
      mv "$dir/base.tar.part" "$dir/base.tar"
    fi
  fi
  copy_machine_settings "$root"
  say "cloning $repository"
  git clone --quiet --no-hardlinks "$repository" "$root/srv/holdfast"
  mount_system "$root"
  local command
  for command in ./scripts/quickstart.sh ./scripts/test.sh; do
    say "running $command"
    in_root "$root" "$command" || fail "$command failed with exit code $?"
  done
  say "both commands work on a clean Debian $release"
}

if [[ "${1:-}" == --inside ]]; then
  shift
  run_inside "$@"
  exit 0
fi

keep=no
reuse=no
dir=""
for argument in "$@"; do
  case "$argument" in
    --keep) keep=yes ;;
    --reuse) reuse=yes ;;
    -*) usage ;;
    *) [[ -z "$dir" ]] || usage; dir="$argument" ;;
  esac
done
[[ -n "$dir" ]] || usage
[[ $EUID -eq 0 ]] || fail "this needs root"
for tool in debootstrap git unshare chroot; do
  command -v "$tool" > /dev/null || fail "$tool is missing; install it first"
done

repository="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
mkdir -p "$dir"
dir="$(cd "$dir" && pwd)"
[[ ! -e "$dir/root" ]] || fail "$dir/root already exists; remove it first"

clean_up() {
  if [[ "$keep" == no ]]; then
    rm -rf --one-file-system "$dir/root" "$dir/root.log" "$dir/base.tar.part"
    rmdir --ignore-fail-on-non-empty "$dir"
  fi
}
trap clean_up EXIT

unshare --mount --propagation private --pid --fork --kill-child \
  bash "${BASH_SOURCE[0]}" --inside "$dir" "$repository" "$reuse"
