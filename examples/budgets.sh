#!/bin/sh
# The budgets of one program, pass by pass: what each plan is estimated to take, and what
# the simulator says. Run it from the top of the repository: sh examples/budgets.sh
set -eu
program=${1:-examples/tiny_mlp.mlir}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The catalogue is the same for every budget, so it is made once.
tile-opt -p expand-candidates "$program" -o "$folder/catalogue.mlir"

for budget in 8KiB 4200; do
  if ! tile-opt -p "search-plan{budget=$budget},select-plan" \
    "$folder/catalogue.mlir" -o "$folder/plan.mlir" 2> "$folder/error.txt"; then
    echo "$budget: $(cat "$folder/error.txt")"
    continue
  fi
  tile-opt --plan-budget="$budget" -t package -o "$folder/plan.tilepkg" "$folder/plan.mlir"
  echo "$budget: $(tile-run "$folder/plan.tilepkg" --check --quiet | head -n 1)"
done
