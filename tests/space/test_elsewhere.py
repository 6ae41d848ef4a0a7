"""AWS-LC on other processors: what nm and qemu say is read as they say it, and what is missing is named."""

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gauntlet.errors import RunError, UserError
from gauntlet.space import elsewhere

ARM = elsewhere.ARCHITECTURES[-1]


def program(file: Path, script: str) -> str:
    """A program in the place of a tool."""
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)
    return str(file)


def emulator(folder: Path, script: str, helps: str = "-singlestep") -> elsewhere.Architecture:
    """A processor whose emulator is a script."""
    tool = program(folder / "qemu", f"case $* in *-help*) echo ' {helps}  one by one'; exit;; esac\n{script}")
    return replace(ARM, emulator=tool, libraries="/its/libraries")


def compiled_by_cargo() -> tuple[Path, Path] | None:
    """An AWS-LC that cargo compiled for this processor, and its headers; None where there is none."""
    target = Path(os.environ.get("CARGO_TARGET_DIR", elsewhere.ROOT / "target"))
    for archive in sorted(target.glob("*/build/aws-lc-sys-*/out/libaws_lc_*_crypto.a")):
        if (archive.parent / "include" / "openssl" / "aead.h").is_file():
            return archive, archive.parent / "include"
    return None


@pytest.mark.skipif(
    compiled_by_cargo() is None or shutil.which("gcc") is None,
    reason="needs gcc and an AWS-LC that cargo compiled: cargo build -p flight-links",
)
def test_the_probe_compiles_and_what_it_seals_and_signs_comes_out(tmp_path: Path) -> None:
    """Natively: with the cross-compilers a mistake in it would show where they are installed alone."""
    archive, headers = compiled_by_cargo() or (Path(), Path())
    probe = tmp_path / "probe"
    strict = ["-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{headers}"]
    subprocess.run(
        ["gcc", *strict, str(elsewhere.PROBE), str(archive), "-pthread", "-o", str(probe)], check=True
    )

    def ends(*words: str) -> int:
        return subprocess.run([str(probe), *words], check=False).returncode

    assert [ends("message", octets, "3") for octets in ("0", "64", "1024", "65536")] == [0, 0, 0, 0]
    assert ends("handshake", "2") == 0
    assert ends("message", "65537", "1") == 1, "more than it has room for"
    assert ends() == ends("handshake") == ends("greet", "1") == 1


def test_a_line_of_a_block_is_an_instruction(tmp_path: Path) -> None:
    script = "yes 'Trace 0: 0x7f0 [0/1/2/3] ' | head -70000 >&2; echo 'cpu 7 Tracing' >&2"
    found = elsewhere.instructions(emulator(tmp_path, script), tmp_path / "probe", ["handshake", "1"])
    assert found == 70_000


@pytest.mark.parametrize("before", range(len("Trace ") + 1))
def test_a_name_that_two_reads_have_parts_of_counts_once(tmp_path: Path, before: int) -> None:
    """The first read ends so many octets behind the beginning of the second line."""
    first = f"Trace {'0' * (elsewhere.READ_OCTETS - before - len('Trace ') - 1)}\n"
    (tmp_path / "said").write_text(f"{first}Trace 1\nTrace 2\n")
    read = emulator(tmp_path, f"cat {tmp_path}/said >&2")
    assert elsewhere.instructions(read, tmp_path / "probe", ["handshake", "1"]) == 3


@pytest.mark.parametrize("script", ["echo 'Trace 0: ' >&2; exit 3", "exit 0"])
def test_a_program_that_failed_or_did_nothing_is_no_count(tmp_path: Path, script: str) -> None:
    with pytest.raises(RunError, match=r"-cpu cortex-a15 -L /its/libraries -singlestep -d exec,nochain"):
        elsewhere.instructions(emulator(tmp_path, script), tmp_path / "probe", [])


def test_a_newer_emulator_has_another_word_for_one_at_a_time(tmp_path: Path) -> None:
    newer = emulator(tmp_path, 'echo "$*" > "$0.words"; echo "Trace 0" >&2', helps="-one-insn-per-tb")
    elsewhere.instructions(newer, tmp_path / "probe", ["message"])
    assert " -one-insn-per-tb -d exec,nochain " in Path(f"{newer.emulator}.words").read_text()


def test_symbols_of_the_library_count_and_those_around_it_do_not(tmp_path: Path) -> None:
    archive = "a.o:\n0000 T seal\n0000 r table\n0000 t helper.part.0\n0000 W replaced\n0000 B kept\n"
    linked = (
        "1000 0010 T seal\n1800 00ff r table\n1900 0004 t helper.part.0\n1a00 0100 W replaced\n"
        "1c00 1000 B kept\n2000 0500 T main\n"
    )
    (tmp_path / "archive").write_text(archive)
    (tmp_path / "linked").write_text(linked)
    program(
        tmp_path / "arm-nm",
        f"case $1 in --defined-only) cat {tmp_path}/archive;; *) cat {tmp_path}/linked;; esac",
    )
    arm = replace(ARM, tools=str(tmp_path / "arm"))
    assert elsewhere.size(arm, tmp_path / "probe") == {"code_octets": 0x114, "data_octets": 0x10FF}
    (tmp_path / "archive").write_text("a.o:\n0000 T open\n")
    with pytest.raises(RunError, match="has nothing of"):
        elsewhere.size(arm, tmp_path / "probe")


def test_what_is_missing_is_named_with_its_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda name: None if "aarch64" in name else f"/usr/bin/{name}")
    monkeypatch.setattr(
        elsewhere,
        "ARCHITECTURES",
        [replace(it, libraries="/" if it.libraries else "") for it in elsewhere.ARCHITECTURES],
    )
    with pytest.raises(UserError) as refused:
        elsewhere.ready()
    assert str(refused.value) == (
        "aarch64-linux-gnu-gcc, aarch64-linux-gnu-nm, qemu-aarch64: not installed; in a working copy "
        "`scripts/system-packages.sh gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user` installs what is "
        "missing."
    )
    monkeypatch.setattr(shutil, "which", lambda name: f"/usr/bin/{name}")
    elsewhere.ready()
    monkeypatch.setattr(elsewhere, "PROBE", Path("/not/here.c"))
    with pytest.raises(UserError, match="compiled from its source"):
        elsewhere.ready()


def test_the_library_is_compiled_once_and_the_program_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []

    def output(command: list[str], cwd: Path | None = None) -> str:
        asked.append(command)
        if "--build" in command:
            archive = Path(command[2]) / "crypto" / "libcrypto.a"
            archive.parent.mkdir(parents=True)
            archive.touch()
        return ""

    monkeypatch.setattr(elsewhere, "ROOT", tmp_path)
    monkeypatch.setattr(elsewhere, "library", lambda: (Path("/source"), "0.47.0"))
    monkeypatch.setattr(elsewhere, "_output", output)
    said: list[str] = []
    for _ in range(2):
        assert elsewhere.built(ARM, said.append) == tmp_path / "target/elsewhere/armv7-0.47.0/probe"
    assert [command[0] for command in asked] == ["cmake", "cmake"] + ["arm-linux-gnueabihf-gcc"] * 2
    assert "-DCMAKE_SYSTEM_PROCESSOR=armv7-a" in asked[0]
    assert "-DCMAKE_CROSSCOMPILING_EMULATOR=qemu-arm;-cpu;cortex-a15;-L;/usr/arm-linux-gnueabihf" in asked[0]
    assert said == ["Compiling AWS-LC for armv7: some minutes, and once."]
