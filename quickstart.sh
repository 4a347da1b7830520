#!/usr/bin/env bash
# From a bare Debian 12 to a ranked comparison: installs what is missing, builds, runs the example.
set -euo pipefail
cd "$(dirname "$0")"
./.ci/install-packages
cmake --preset release -DTRAINYARD_TESTS=OFF -B build/quickstart >/dev/null
cmake --build build/quickstart --target trainyard
program=build/quickstart/sim/cli/trainyard
"$program" compare validation/scenarios/mixed-13b.yaml "$@"
cat >&2 <<END

The program is $PWD/$program. To have it as \`trainyard\`, with completion in the shell:
  cmake --install build/quickstart --prefix ~/.local
A scenario of your own, and what to ask it:
  trainyard init > first.yaml && trainyard compare first.yaml --why --sensitivity
END
