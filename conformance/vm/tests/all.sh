#!/bin/sh
# All tests of the VM itself, run in it.
. /tests/check.sh
. /tests/cgroups.sh
. /tests/features.sh
summary
