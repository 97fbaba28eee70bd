#!/usr/bin/env bash
# Installs the package that COALESCE_PACKAGE names; without a name, and where there is no command, builds one of this revision.
set -euo pipefail
package=${COALESCE_PACKAGE-}
if [[ -z $package ]]; then
  if command -v coalesce; then exit; fi
  "$(dirname -- "${BASH_SOURCE[0]}")/../../../dev" package
  package=$(ls "$(dirname -- "${BASH_SOURCE[0]}")"/../../../build-package/coalesce_*.deb)
elif [[ $package == http*://* ]]; then
  curl -fsSL -o /tmp/coalesce.deb "$package"
  package=/tmp/coalesce.deb
fi
as_root=()
[[ $EUID -eq 0 ]] || as_root=(sudo)
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -qq -y "$(realpath -- "$package")"
