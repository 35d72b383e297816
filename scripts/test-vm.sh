#!/bin/sh
# The tests that need cgroup v2 alone, in a small VM: see conformance/vm/README.md. Ends with `N passed, N failed, N skipped`;
# exit code 77: skipped, the reason is printed.
set -eu
root=$(CDPATH='' cd "${0%/*}/.." && pwd -P)
exec timeout --kill-after=30s 15m "$root/conformance/vm/tests/launcher"
