# `make` alone prints help. Each target runs one script in tools/, which you can also run with arguments of your own.
PYTHON ?= python3
export PYTHON
.NOTPARALLEL:

.PHONY: help setup setup-run build demo test test-all test-integrations lint format bench mutants wheel wheels image chart notebooks pins clean
help:
	@echo 'kai-sched: a GPU scheduler for Kubernetes'
	@echo
	@echo '  make demo       set up, build, and plan a small cluster (5 to 8 minutes the first time)'
	@echo '  make test       what every commit has to pass: lint, sanitized C++ tests, stubs, wheel, pytest, a'
	@echo '                  real API server (needs Go) and the orchestrators that install fast (25 to 45 minutes the'
	@echo '                  first time)'
	@echo
	@echo 'While you work:'
	@echo '  make build      compile kai._core into python/kai; .venv/bin/kai and .venv/bin/python then use it'
	@echo '  make test-model the C++ tests of one floor, here cpp/kai/model, in the debug build'
	@echo '  make test-all   make test, and what takes longer: C++ tests in the release build, all orchestrators, an older API'
	@echo '                  server, more random clusters and events, the thread sanitizer, fuzzing, broken updates, mutants'
	@echo '  make test-integrations  the builders beside every orchestrator; tools/test.sh lint pytest  runs single stages'
	@echo '  make lint       formatting, types, import floors, sizes;  make format  fixes what a tool can fix'
	@echo '  make bench      instructions and times beside the committed baseline; fails on more instructions (3 minutes)'
	@echo '  make bench-event  the C++ benchmarks that have "event" in their names'
	@echo '  make mutants    change operators one at a time, and report changes that no test notices; ARGS="--files fairshare"'
	@echo '  make wheel      dist/kai_sched-*.whl, which needs no compiler and no system package'
	@echo '  make wheels     the same for every Python on the PATH'
	@echo '  make image      the container image, without a container daemon (Debian 12; elsewhere use the Dockerfile)'
	@echo '  make chart      dist/kai-sched-*.tgz, the Helm chart'
	@echo '  make notebooks  run notebooks/ and store their outputs; ARGS=03 runs one of them'
	@echo '  make clean      remove all build outputs; .venv stays'
	@echo
	@echo 'All of them first install missing packages (tools/setup.sh). JOBS=n sets how many compilers run.'

setup:
	@tools/setup.sh

setup-run:
	@tools/setup.sh system run

build: setup-run
	@tools/build.sh release _core
	@.venv/bin/python -m compileall -q python/kai  # for machines that forbid writing it at the first start

demo: build
	@.venv/bin/python -m kai demo

test: setup
	@tools/test.sh

test-all: setup
	@tools/test.sh all

# ARGS names some of them: make test-integrations ARGS="-s kfp-2.17.0"
test-integrations: setup build
	@.venv/bin/nox $(ARGS)

test-%: setup
	@tools/build.sh debug kai_$*_test
	@build/debug/bin/kai_$*_test --gtest_brief=1

lint: setup
	@tools/test.sh lint

format: setup
	@find cpp guard \( -name '*.h' -o -name '*.cc' -o -name '*.cu' \) -exec .venv/bin/clang-format -i {} +
	@.venv/bin/ruff check --quiet --fix . ; .venv/bin/ruff format --quiet .
	@.venv/bin/python tools/chart.py

# ARGS names workloads of kai bench, or: make bench ARGS=--write
bench: setup
	@tools/setup.sh bench
	@tools/build.sh release _core kai_phases
	@.venv/bin/python tools/bench.py $(ARGS)

bench-%: setup
	@tools/build.sh release
	@for benchmark in build/release/bin/*_benchmark; do "$$benchmark" "--benchmark_filter=$*" $(ARGS) || exit; done

mutants: setup
	@.venv/bin/python tools/mutants.py $(ARGS)

wheel: setup
	@tools/wheel.sh

wheels: setup
	@tools/wheel.sh all

# ARGS="--source URL" adds the label with the address of the source code
image: setup
	@tools/wheel.sh
	@.venv/bin/python tools/image.py $(ARGS)

chart: setup
	@tools/chart.sh package

# ARGS names some of them: make notebooks ARGS="03 05"
notebooks: setup build
	@.venv/bin/python tools/notebooks.py $(ARGS)

# Resolves the requirements of development again, for all supported Pythons together.
pins: setup
	@for name in dev cuda tidy; do \
	  .venv/bin/python -m uv pip compile --quiet --upgrade --universal --python-version 3.10 --no-header --no-annotate \
	    tools/requirements-$$name.in --output-file tools/requirements-$$name.txt || exit; \
	done

clean:
	@rm -rf build dist python/kai/_core*.so
