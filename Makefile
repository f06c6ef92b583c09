# The only door. `make demo` and `make test` do everything on a fresh machine.
.DEFAULT_GOAL := help
SHELL := /bin/bash
JOBS ?= $(shell nproc)
PYTHON := .venv/bin/python

.PHONY: help setup build demo test bench lint lint-all format docs results clean

help: ## this list
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

setup: ## install what is missing: Debian packages, .venv with torch, the viewer's packages
	@tools/setup

build: setup ## build/heed, and the Python package importable in .venv
	@tools/build release

demo: build ## train and compare four ways to attend; ends with runs/demo/report.html
	@build/heed demo

test: build ## all tests; ends with one summary line
	@tools/run_tests

bench: build ## heed's kernels beside their peers, interleaved, with the share of the machine's peak
	@tools/bench

lint: build ## formatting everywhere; clang-tidy on what is free of torch; the viewer and Python
	@tools/lint

lint-all: build ## also clang-tidy on what uses torch (slow)
	@tools/lint --all

format: setup ## format the sources in place
	@tools/lint --fix

docs: build ## docs/mechanisms.md from the registry, and the site: site/index.html
	@tools/setup --docs
	@$(PYTHON) tools/make_docs.py
	@$(PYTHON) tools/make_site.py

results: build ## long reproductions, whose tables are in docs/results.md: the examples on real data, sorting, over-smoothing, the grid
	@tools/results
	@ninja -C build bench_sorting bench_over_smoothing >/dev/null
	@build/bench/bench_sorting && build/bench/bench_over_smoothing && tools/grid

clean: ## remove what was built; .venv stays
	rm -rf build build-debug build-asan viewer/dist site
