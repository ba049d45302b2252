"""`kinhash bench` runs, resumes, and hands over to `kinhash report`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from command_line import Run

from kinhash_bench.cli.bench import bench
from kinhash_bench.tasks import read_results, read_task


def test_the_command_runs_resumes_and_reports(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "runs"
    words = ["bench", "smoke", "--methods", "EMKSH,Cosine", "--only", "smoke", "--bits", "8", "-o", folder]
    said = run(*words, "--partitions", 1, "--json")
    assert said.code == 0, said.err
    result = json.loads(said.out)
    assert (result["run"], result["failed"], result["missing"]) == (2, [], {})
    assert said.err.count("\n") == 2, "a line per cell where there is no terminal"
    refused = run(*words, "--partitions", 1)
    assert refused.code == 2
    assert "--resume" in refused.err
    more = json.loads(run(*words, "--resume", "--json").out)
    assert (more["run"], more["already_there"]) == (2, 2)
    for wrong in (["bench", "smok"], ["bench", "smoke", "--bits", "x"], ["bench", "smoke", "--methods", "Z"]):
        said = run(*wrong, "-o", tmp_path / "never")
        assert (said.code, said.err.count("\n")) == (2, 1)
    assert not (tmp_path / "never").exists()


def test_a_stopped_run_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import kinhash_bench.tasks

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(kinhash_bench.tasks, "run", stop)
    said = CliRunner().invoke(bench, ["smoke", "-o", str(tmp_path / "runs")])
    assert said.exit_code == 130
    assert "0 cells finished" in said.output
    assert "--resume goes on" in said.output


def test_a_stopped_run_says_one_thing(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not also that all is as it was: finished cells are there."""
    import kinhash.cli
    import kinhash_bench.tasks

    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    def leave(code: int) -> None:
        raise SystemExit(code)

    monkeypatch.setattr(kinhash_bench.tasks, "run", stop)
    monkeypatch.setattr(kinhash.cli.os, "_exit", leave)
    said = run("bench", "smoke", "-o", tmp_path / "runs")
    assert said.code == 130
    assert "--resume goes on" in said.err
    assert said.err.count("\n") == 1


def test_a_run_in_which_every_cell_fails_has_failed(run: Run, tmp_path: Path) -> None:
    task = tmp_path / "mine.toml"
    sweep = 'methods = [{ name = "COSDISH", given = { map = "expectd" } }]'
    task.write_text(f'[section.mine]\ndataset = "digits"\nbits = [8]\n{sweep}\n')
    said = run("bench", task, "-o", tmp_path / "runs")
    assert said.code == 1
    assert "COSDISH 8 bits, map=expectd, digits" in said.err  # which of several settings it is
    assert "failed: COSDISH 8 on digits, partition 0" in said.out


def test_nothing_run_is_nothing_to_look_at(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KINHASH_DATA", str(tmp_path / "empty"))
    said = run("bench", "paper", "--only", "table1-cifar10", "--bits", "8", "-o", tmp_path / "runs")
    assert said.code == 0, said.err
    assert "cifar10_gist512 is missing" in said.out
    assert "kinhash report" not in said.out


def test_the_list_of_tasks_fits_a_terminal(run: Run) -> None:
    said = run("bench")
    assert {"smoke", "paper", "field"} <= set(said.out.splitlines())
    assert max(map(len, said.out.splitlines())) <= 100


@pytest.mark.timeout(1200)  # half a minute on an idle machine
def test_smoke_runs_as_a_whole_and_its_report_is_written(run: Run, tmp_path: Path) -> None:
    said = run("bench", "smoke", "-o", tmp_path / "runs", "--json")
    assert said.code == 0, said.err
    assert json.loads(said.out)["failed"] == []
    assert len(read_results(tmp_path / "runs")) == len(read_task("smoke").cells)
    said = run("report", tmp_path / "runs", "-o", tmp_path / "report.html")
    assert said.code == 0, said.err
    page = (tmp_path / "report.html").read_text()
    assert "EM-KSH" in page
    assert str(tmp_path) not in page
