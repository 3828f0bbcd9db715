# make setup   one virtual environment, .venv, with all that tests and bench import
# make demo    the main job: the SigLIP MLP at 256KiB, compiled, simulated, checked
# make test    formatting, lint, types, lit and unit tests
# make bench   the tables of figures

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
STAMP := .venv/installed

# lit and the tests find tile-opt, filecheck and not by name.
export PATH := $(CURDIR)/$(BIN):$(PATH)

BUDGET ?= 256KiB
DEMO := siglip_mlp_f8_b1

.PHONY: setup demo test types lit bench clean

setup: $(STAMP)

$(STAMP): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo "tiledialect needs Python 3.11 or newer"; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --root-user-action=ignore -e '.[test]'
	touch $(STAMP)

demo: $(STAMP)
	mkdir -p out
	tile-opt --plan-budget=$(BUDGET) -t package -o out/$(DEMO).tilepkg examples/$(DEMO).mlir
	tile-run out/$(DEMO).tilepkg --check

# Types take one core as long as the lit files take another.
test: $(STAMP)
	ruff format --check . && ruff check .
	$(MAKE) --no-print-directory --jobs=2 types lit
	pytest -q -n 2 --dist loadfile test/unit

types: $(STAMP)
	basedpyright

lit: $(STAMP)
	lit -q -j 1 test/lit

bench: $(STAMP)
	python -m bench.exchange && python -m bench.placement && python -m bench.cells

clean:
	rm -rf .venv out build dist *.egg-info
