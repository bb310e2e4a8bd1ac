#!/usr/bin/env bash
# Installs the packages of scripts/packages.txt that are missing. If none is missing, it does not
# use apt at all, so it needs neither root nor a network.
#
#   install_packages.sh build   packages for a build
#   install_packages.sh all     also packages for the tests
#   install_packages.sh long    also packages for the long tests
set -euo pipefail

usage() {
  echo "usage: install_packages.sh build|all|long" >&2
  exit 2
}

[[ $# -eq 1 ]] || usage
case "$1" in
  build) roles="build" ;;
  all) roles="build test" ;;
  long) roles="build test long" ;;
  *) usage ;;
esac

list="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)/packages.txt"

if ! command -v apt-get > /dev/null || ! command -v dpkg-query > /dev/null; then
  echo "packages: this is not a Debian system; install the packages in $list by hand" >&2
  exit 1
fi

missing=()
while read -r package role command _; do
  if [[ " $roles " == *" ${role:-build} "* ]] &&
    { [[ -z $command ]] || ! command -v "$command" > /dev/null; } &&
    [[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2> /dev/null)" != installed ]]; then
    missing+=("$package")
  fi
done < <(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$list")

if [[ ${#missing[@]} -eq 0 ]]; then
  echo "packages: all installed"
  exit 0
fi

as_root=()
if [[ $EUID -ne 0 ]]; then
  if ! command -v sudo > /dev/null; then
    echo "packages: missing: ${missing[*]}" >&2
    echo "packages: run this as root, or install sudo" >&2
    exit 1
  fi
  as_root=(sudo)
fi

echo "packages: installing ${missing[*]}"
apt=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q)
output="$(mktemp)"
trap 'rm -f "$output"' EXIT
# --no-remove: a conflicting package is for its owner to remove.
if ! { "${apt[@]}" update &&
  "${apt[@]}" install -y --no-install-recommends --no-remove "${missing[@]}"; } \
  < /dev/null > "$output" 2>&1; then
  tail -n 30 "$output" >&2
  echo "packages: apt could not install them; see its output above" >&2
  exit 1
fi
echo "packages: done"
