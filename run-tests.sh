#!/usr/bin/env bash
# Installs what is missing, builds everything and runs every test. With --sanitize: under the address and undefined-behaviour
# sanitizers, warnings as errors.
set -euo pipefail
cd "$(dirname "$0")"
preset=release
case "${1:-}" in
  "") ;;
  --sanitize) preset=dev ;;
  *) echo "usage: run-tests.sh [--sanitize]" >&2; exit 2 ;;
esac
./.ci/install-packages
cmake --preset "$preset" >/dev/null
cmake --build --preset "$preset"
ctest --preset "$preset"
