#!/usr/bin/env bash
# From a bare Debian 12 to a ranked comparison: installs what is missing, builds, runs the example.
set -euo pipefail
cd "$(dirname "$0")"
./.ci/install-packages
cmake --preset release -DTRAINYARD_TESTS=OFF -B build/quickstart >/dev/null
cmake --build build/quickstart --target trainyard
exec build/quickstart/sim/cli/trainyard compare validation/scenarios/mixed-13b.yaml "$@"
