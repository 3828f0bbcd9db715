#!/bin/sh
# One program under several budgets: its plan space is made once and searched for each.
# Run it from the top of the repository: sh examples/budgets.sh
set -eu
program=${1:-examples/tiny_mlp.mlir}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The catalogue is the same for every budget.
tile-opt -p expand-candidates "$program" -o "$folder/catalogue.mlir"

for budget in 8KiB 4200; do
  if tile-opt --plan-budget="$budget" -t package -o "$folder/program.tilepkg" \
    "$folder/catalogue.mlir" 2> "$folder/error.txt"; then
    echo "$budget: $(tile-run "$folder/program.tilepkg" --check --quiet | head -n 1)"
  else
    echo "$budget: $(cat "$folder/error.txt")"
  fi
done
