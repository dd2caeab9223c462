# Nothing but Python 3.11 or newer and make is needed. PYTHON=python3.13 chooses another.
PYTHON ?= python3
ifneq ($(shell $(PYTHON) -c "import sys; print(sys.version_info >= (3, 11))"),True)
$(error $(PYTHON) is not Python 3.11 or newer; name one that is, as PYTHON=python3.13)
endif

.PHONY: run run-m2 run-m3 run-m3-paths run-m4 watch-m3 lab evidence test test-real test-browser fuzz bench clean

run:            ## milestone 1: the loop on a small task
	@$(PYTHON) scripts/drive_m1.py

run-m2:         ## milestone 2: tools, and every way in which a call can fail
	@$(PYTHON) scripts/drive_m2.py

run-m3:         ## milestone 3: a long session with and without compression
	@$(PYTHON) scripts/drive_m3.py

run-m3-paths:   ## milestone 3: the same session under each of the six paths
	@$(PYTHON) scripts/drive_m3_paths.py

run-m4:         ## milestone 4: one task in one window, compressed, and with sub-agents
	@$(PYTHON) scripts/drive_m4.py

watch-m3:       ## run milestone 3 again whenever its task file is saved
	@$(PYTHON) scripts/watch_m3.py

lab:            ## milestone 6: the sessions of workspace/sessions under every policy, on a page
	@$(PYTHON) scripts/drive_m6.py

evidence:       ## milestone 6: what every policy forgets and costs, over SESSIONS=FOLDER (minutes)
	@$(PYTHON) scripts/evidence.py "$(or $(SESSIONS),workspace/sessions)"

test:           ## every test, warnings as errors
	@$(PYTHON) scripts/run_tests.py

test-real:      ## a real model, a fault server, official judges; skips what cannot be had
	@$(PYTHON) scripts/test_real.py $(if $(KEEP),--keep $(KEEP))

test-browser:   ## the report page in a real browser; skipped where there is none
	@$(PYTHON) scripts/test_browser.py

fuzz:           ## every strategy and policy on 10,000 random sessions each; MINUTES=10: new ones
	@$(PYTHON) -W error -m tests.fuzz_all $(if $(MINUTES),--minutes $(MINUTES)) $(if $(SEEDS),--seeds $(SEEDS))

bench:          ## what governing a step costs, as ratios within one run; with SESSIONS=FOLDER on these too (minutes)
	@$(PYTHON) scripts/bench.py

clean:          ## remove what runs have written
	@rm -rf traces/*.jsonl traces/*.json traces/*.svg traces/*.png traces/*.d traces/*.html build
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
