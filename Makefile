# Gauntlet: `make demo` shows what it does, `make test` tests everything, `make help` lists the rest.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
STAMPS := $(VENV)/stamps

# gcc links Rust programs too; bzip2 unpacks Ubuntu's kernel source.
BUILD_PACKAGES  := gcc libc6-dev python3-venv util-linux make flex bison bc xz-utils bzip2 patch
# Debian's and Ubuntu's names for kernel sources, best first; only the first that is to be had is installed.
KERNEL_SOURCES  := linux-source-6.12 linux-source-6.11 linux-source-6.8.0
# Optional where a distribution does not have them as packages: the tests that need them say so and are skipped, as
# does the comparison with ns-3.
TEST_PACKAGES   := --if-available tshark chromium
LINT_PACKAGES   := shellcheck
BENCH_PACKAGES  := --if-available g++ libns3-dev

# What the stack quic-quiche needs to be built: it compiles BoringSSL.
QUICHE_PACKAGES := cmake g++ git libclang-dev

# What flight-links' feature `openssl` needs: OpenSSL 3.0 or newer, of the system.
HAS_OPENSSL := pkg-config --exists 'openssl >= 3'

# Optional parts of the guest program, separated by commas: `GAUNTLET_FEATURES=quiche make setup` builds the stack
# quic-quiche in. The choice holds until another one is made; `GAUNTLET_FEATURES= make setup` goes back to none.
ifeq ($(origin GAUNTLET_FEATURES),undefined)
GAUNTLET_FEATURES := $(shell cat $(STAMPS)/features 2>/dev/null)
endif

export CARGO_TERM_COLOR ?= auto

# Property tests take the same inputs each time; `make test-rust PROPTEST_RNG_SEED=7` takes others.
export PROPTEST_RNG_SEED ?= 1

.PHONY: FORCE help demo docs test fresh-machine dist dist-check fresh-wheels bench kernel setup agreement prediction handshake-bytes lint lint-all-but-rust msrv advisories additions test-rust test-python golden soak fuzz mutants coverage perf-namespaces publish-check semver clean

help:
	@echo "make demo    set up everything, run the demo campaign, print the path of its report"
	@echo "make test    set up everything, run all tests"
	@echo "make setup   set up everything: packages, Python's environment, the Rust parts, the kernel"
	@echo "make fresh-machine    make demo and make test on bare roots of Debian 12 and 13 (needs root)"
	@echo "make dist    the wheels, in dist/"
	@echo "make dist-check       the wheels, built again in another folder and compared byte for byte"
	@echo "make fresh-wheels     the wheels on bare roots of Debian 12 and 13 (needs root)"
	@echo "make bench   speed, as ratios to ns-3 and other peers in the same run; of the results and of ResTP's parts"
	@echo "make agreement        the same runs on both grounds, compared (an idle machine; five minutes)"
	@echo "make prediction       a processor in virtual time against a web server (an idle machine; 79 runs of 20 s)"
	@echo "make handshake-bytes  padding and probes of a session over QUIC (tshark)"
	@echo "make docs    the site, in build/site"
	@echo "make kernel  build the virtual-time kernel (once; kept in the user's cache)"
	@echo "make soak    ten million simulated ResTP packets with faults"
	@echo "make fuzz    fuzz ResTP, sdls and RaSTA: decoders, connections, procedures, for a while"
	@echo "make mutants          take each security clause out of ResTP's core, which its test must notice"
	@echo "make coverage         lines of the ResTP protocol core that its tests reach"
	@echo "make perf-namespaces  a gigabyte between two network namespaces with every reliable preset (needs root)"
	@echo "make golden  keep the hashes of today's results, when the kernel or one of the player's libraries has changed"
	@echo "make lint    formatters, linters and type checkers, of the shell scripts too; licences of libraries"
	@echo "make additions        the guide's patches for a transport and an application, built and played"
	@echo "make msrv    the Rust version that Cargo.toml states, checked where rustup has it"
	@echo "make publish-check    the libraries and tools for crates.io, packaged and built from their packages"
	@echo "make semver  what changed in the libraries' interfaces against what their versions promise"
	@echo "make advisories       what is known against the Rust libraries (downloads RustSec's database)"

# --- set-up -----------------------------------------------------------------------------------------------------------

setup: $(STAMPS)/package kernel
	@echo "Gauntlet is set up."

$(STAMPS)/venv: pyproject.toml scripts/check-toolchain.sh
	@scripts/system-packages.sh $(BUILD_PACKAGES)
	@PYTHON=$(PYTHON) scripts/check-toolchain.sh
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --upgrade "pip>=25.1"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dev
	@mkdir -p $(STAMPS) && touch $@

RUST_SOURCES := $(shell find crates -name '*.rs' -o -name Cargo.toml) Cargo.toml Cargo.lock

$(STAMPS)/features: $(STAMPS)/venv FORCE
	@[ -e $@ ] && [ "$$(cat $@)" = "$(GAUNTLET_FEATURES)" ] || echo "$(GAUNTLET_FEATURES)" > $@

FORCE:

$(STAMPS)/package: $(STAMPS)/venv $(STAMPS)/features $(RUST_SOURCES)
	@$(if $(findstring quiche,$(GAUNTLET_FEATURES)),scripts/system-packages.sh $(QUICHE_PACKAGES))
	@echo "Building and installing gauntlet (two or three minutes the first time)"
	PATH="$(CURDIR)/$(BIN):$$PATH" MATURIN_PEP517_ARGS="$(addprefix --features=,$(GAUNTLET_FEATURES))" \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --editable ".[all]"
	@touch $@

kernel: $(STAMPS)/package
	@$(BIN)/gauntlet kernel path 2>/dev/null || { \
	    { [ -n "$$GAUNTLET_KERNEL_SOURCE" ] || scripts/system-packages.sh --first-of $(KERNEL_SOURCES); } && \
	    $(BIN)/gauntlet kernel build; }

# --- the demo ---------------------------------------------------------------------------------------------------------

demo: setup
	$(BIN)/gauntlet demo

# --- tests ------------------------------------------------------------------------------------------------------------

test: setup
	@scripts/system-packages.sh $(TEST_PACKAGES)
	$(MAKE) lint-all-but-rust
	$(MAKE) test-rust CLIPPY=1
	$(MAKE) test-python CLIPPY=1

lint: lint-all-but-rust
	cargo clippy --workspace --all-targets --profile test --quiet -- -D warnings
	@if $(HAS_OPENSSL) 2>/dev/null; then \
	    cargo clippy --package flight-links --features openssl --all-targets --profile test --quiet -- -D warnings; fi

lint-all-but-rust: $(STAMPS)/package $(STAMPS)/docs
	@scripts/system-packages.sh $(LINT_PACKAGES)
	scripts/lint-shell.sh
	cargo fmt --all --check
	cargo fmt --all --check --manifest-path controls/quiche/Cargo.toml
	cargo fmt --all --check --manifest-path experiments/recipes/msquic/Cargo.toml
	@if cargo deny --version >/dev/null 2>&1; then cargo deny --log-level error check licenses bans sources; else \
	    echo "Licences and sources of the Rust libraries are not checked: cargo install cargo-deny --locked"; fi
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python crates/restp-proto/compliance.py --check
	$(BIN)/python crates/restp-proto/tests/vectors/make_vectors.py --check
	$(BIN)/python scripts/mutants.py rasta --check
	$(BIN)/python scripts/mutants.py flight --check
	$(BIN)/python scripts/mutants.py flight-links --check
	$(BIN)/python scripts/mutants.py sdls --check

msrv:
	@scripts/msrv.sh

advisories:
	@cargo deny --version >/dev/null 2>&1 || cargo install cargo-deny --locked
	cargo deny check advisories

# Nothing is uploaded. Members without `publish = false`; a crate that another needs is taken from its package, too.
# It does not see that a name is taken: `rasta` and `flight` are other projects' on crates.io (`cargo info rasta`), so
# these two packages begin with `gauntlet-`.
publish-check:
	cargo publish --workspace --dry-run --allow-dirty

# The libraries that stood in the baseline under their present names; those that came later have nothing to break yet.
# They may break as their versions say, and in nothing that crates/breaking-changes.txt does not list.
SEMVER_BASELINE ?= d929dc9
SEMVER_CRATES   ?= restp-proto restp-sim restp
SEMVER_KEEP     ?=
SEMVER_CHECK     = cargo semver-checks --baseline-rev $(SEMVER_BASELINE) $(addprefix --package ,$(SEMVER_CRATES))

semver:
	@cargo semver-checks --version >/dev/null 2>&1 || cargo install cargo-semver-checks --locked
	$(SEMVER_CHECK)
	$(SEMVER_CHECK) --color never --release-type minor 2>&1 | scripts/breaking.py $(words $(SEMVER_CRATES)) $(SEMVER_KEEP)

# `CLIPPY=1` lints what is compiled: `cargo clippy` beside it would check every dependency once more, which takes longer
# than all other linting. The project's own crates are then compiled by clippy-driver, a rustc with more warnings.
# So are those that tests of pytest ask cargo for.
LINTED := $(if $(CLIPPY),RUSTC_WORKSPACE_WRAPPER=clippy-driver CLIPPY_ARGS="-D__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__")

# A feature is chosen in the whole workspace: what other crates need of libraries stays as it is, and is there already.
# (That way sdls has the features `aws-lc` and `rustcrypto`, both of which flight-links asks for.)
test-rust:
	$(LINTED) cargo test --workspace --quiet
	$(LINTED) cargo test --quiet --no-default-features --package restp-proto --package restp-sim --lib
	$(LINTED) cargo check --quiet --no-default-features --package restp
	$(LINTED) cargo test --quiet --workspace --features web/weak --test weaknesses
	@if $(HAS_OPENSSL) 2>/dev/null; then \
	    $(LINTED) cargo test --quiet --workspace --features flight-links/openssl --test openssl; else \
	    echo "OpenSSL under flight-links is not tested: scripts/system-packages.sh libssl-dev pkg-config"; fi

# Guests keep to a core each (tests/guest/conftest.py). Each worker collects all tests: more than eight gain nothing.
# The slowest tests are named at the end.
test-python: setup $(STAMPS)/docs
	$(LINTED) $(BIN)/pytest --numprocesses auto --maxprocesses 8 --durations 30

# Builds the player with the guide's patches for a transport and an application, and plays them. It begins with what
# `make setup` compiled; without that it takes as long again.
additions: setup
	@[ -d target/additions/target ] || { mkdir -p target/additions/target && cp -a target/release target/additions/target; }
	$(BIN)/pytest -m slow tests/additions

# Keeps the hashes of a small campaign for the present kernel and the player's packages in Cargo.lock:
# tests/guest/golden.py says what they hold.
golden: setup
	$(BIN)/python -m tests.guest.golden

# README's commands on bare roots of Debian 12 and 13, as a new user types them (needs root; 40 to 60 minutes on two
# cores). `make fresh-machine TRIES=trixie:demo` for one of them; logs with times in build/fresh-machine.
fresh-machine:
	@$(PYTHON) -m scripts.fresh_machine $(TRIES)

# --- the site ---------------------------------------------------------------------------------------------------------

$(STAMPS)/docs: $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group docs
	@touch $@

docs: setup $(STAMPS)/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site: build/site/index.html"

# --- wheels ----------------------------------------------------------------------------------------------------------

$(STAMPS)/dist: $(STAMPS)/venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --group dist
	@touch $@

# packaging/README.md says what is in them.
dist: setup $(STAMPS)/dist
	@$(BIN)/python -m scripts.wheels

# What is committed, built a second time in another folder, kernel and Rust parts too (ten minutes more on two cores).
dist-check: setup $(STAMPS)/dist
	@$(BIN)/python -m scripts.wheels --check

# What README says about wheels, on bare roots of Debian 12 and 13 without compiler, Rust or kernel source.
fresh-wheels: dist
	@$(PYTHON) -m scripts.fresh_machine --wheels dist $(TRIES)

# --- longer runs ------------------------------------------------------------------------------------------------------

bench: setup
	@scripts/system-packages.sh $(BENCH_PACKAGES)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/certificate.py
	$(BIN)/python benchmarks/results.py
	$(BIN)/python benchmarks/campaign.py
	$(BIN)/python benchmarks/scale.py
	$(BIN)/python benchmarks/evidence.py
	cargo bench --package restp --bench compare
	cargo bench --package restp-proto --bench parts

# Both grounds on the same runs, one by one: needs an idle machine that allows namespaces (docs/guide/host-ground.md).
agreement: setup
	$(BIN)/python benchmarks/agreement.py

# A processor in virtual time against a server on this machine, which has a share of a core: needs an idle machine with two
# cores that allows control groups with a quota (docs/decisions/0013-a-processor-in-virtual-time.md).
prediction: setup
	$(BIN)/python benchmarks/prediction.py

handshake-bytes: setup
	$(BIN)/python benchmarks/handshake_bytes.py

soak:
	cargo run --release --package restp-sim --example soak -- 10000000 7

FUZZ_SECONDS ?= 300
FUZZED       ?= restp-proto sdls rasta

fuzz:
	@cargo fuzz --version >/dev/null 2>&1 || cargo install cargo-fuzz --locked
	@case "$$(rustup toolchain list)" in *nightly*) ;; *) \
	    echo "Fuzzing needs a nightly Rust: rustup toolchain install nightly"; exit 1;; esac
	@for crate in $(FUZZED); do (cd crates/$$crate && for target in $$(cargo +nightly fuzz list); do \
	    echo "$$crate: $$target"; \
	    cargo +nightly fuzz run "$$target" -- -max_total_time=$(FUZZ_SECONDS) || exit 1; done) || exit 1; done

MUTANTS_OF ?= restp-proto
MUTANTS    ?=

# Takes each rule in a crate's mutants.toml out of the code in turn; the test named beside it must then fail. One after the
# other, each compiled anew: `make mutants MUTANTS=R-PROT-9` plays those of a rule or a test, MUTANTS_OF="rasta sdls" those
# of other crates.
mutants:
	@$(foreach crate,$(MUTANTS_OF),$(PYTHON) scripts/mutants.py $(crate) $(MUTANTS) && ):

# Coverage of the protocol core by its own tests, of which the simulations are the larger part.
coverage:
	@cargo tarpaulin --version >/dev/null 2>&1 || cargo install cargo-tarpaulin --locked
	cargo tarpaulin --engine llvm --package restp-proto --skip-clean --target-dir target/coverage --timeout 3600 --out stdout \
	    --include-files 'crates/restp-proto/src/*' --fail-under 90

perf-namespaces:
	RESTP_PERF_BYTES=1000000000 cargo test --release --package restp-cli --test namespaces -- perf_moves --nocapture

clean:
	rm -rf $(VENV) target
