"""Traces as files: what is written reads back the same; what is wrong is named."""

import math
from pathlib import Path

import pytest
from pyarrow import parquet

from gauntlet.errors import UserError
from gauntlet.scenario import Scenario, load_scenario, read_trace
from gauntlet.scenario.trace_files import write_csv, write_parquet

HEADER = "t_s,rate_up_bps,rate_down_bps,delay_up_s,delay_down_s,loss_up,loss_down,queue_limit_bytes"
ROW = "0,1e6,1e6,0,0,0,0,64000"


def written(tmp_path: Path, *lines: str) -> Path:
    path = tmp_path / "own.csv"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_csv_and_parquet_read_back_exactly(on_line: Scenario, tmp_path: Path) -> None:
    write_csv(on_line.trace, tmp_path / "a.csv")
    write_parquet(on_line.trace, tmp_path / "a.parquet")
    for path in (tmp_path / "a.csv", tmp_path / "a.parquet"):
        back = load_scenario(str(path))
        assert back.trace.table.equals(on_line.trace.table)
        assert back.duration_s == back.trace.end_s == on_line.duration_s
        assert back.max_rate_bps == on_line.trace.column("rate_up_bps").max()


def test_required_columns_are_enough_and_the_last_row_holds_on(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, HEADER, "0,1e6,2000000,0.01,0.02,0,0.5,64000", "3,5,6,0,0,0,0,1"))
    assert trace.end_s == math.inf
    assert trace.at(1e9).rate_up_bps == 5
    assert trace.at(0).cell is None
    assert trace.at(2.9).loss_down == 0.5


def test_end_comment(tmp_path: Path) -> None:
    path = written(tmp_path, HEADER, ROW, "# end_s=12.5")
    assert load_scenario(str(path)).duration_s == 12.5


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([HEADER, "0,fast,1e6,0,0,0,0,64000"], ["own.csv", "line 2", "'rate_up_bps'", "fast"]),
        ([HEADER, ROW, "1,,1e6,0,0,0,0,64000"], ["own.csv, line 3, column 'rate_up_bps' is empty"]),
        ([HEADER, ROW, "1,1e6,nan,0,0,0,0,64000"], ["own.csv, line 3, column 'rate_down_bps' is nan: "]),
        ([HEADER, ROW, "", "1,NaN,1,0,0,0,0,64000"], ["own.csv, line 4, column 'rate_up_bps' is nan: "]),
        ([HEADER, ROW, "1,1e6,1e6,inf,0,0,0,64000"], ["own.csv, line 3, column 'delay_up_s' is inf: "]),
        (
            [HEADER, ROW, "1,-5,1e6,0,0,0,0,64000"],
            ["line 3, column 'rate_up_bps' is -5: ", "at least 1 bit/s"],
        ),
        ([HEADER, ROW, "1,1e6,1e6,0,0,0,2,64000"], ["line 3, column 'loss_down' is 2: ", "from 0 to 1"]),
        ([HEADER, ROW, "1,1e6,1e6,0,0,0,0,nan"], ["line 3, column 'queue_limit_bytes' is 'nan'", "whole"]),
        ([f"{HEADER},km", f"{ROW},nan"], ["line 2, column 'km' is nan: ", "or empty"]),
        ([HEADER, ROW, ROW], ["own.csv, line 3, column 't_s' is 0: ", "rise"]),
        ([HEADER, "", ROW, "", "5,x,1e6,0,0,0,0,9"], ["own.csv, line 5, column 'rate_up_bps' is 'x'"]),
        ([HEADER.replace(",", ";"), ROW.replace(",", ";")], ["own.csv, line 1: semicolons", "commas"]),
        ([HEADER.replace(",", "\t"), ROW.replace(",", "\t")], ["own.csv, line 1: tabs", "commas"]),
        ([f"{HEADER},loss_up", f"{ROW},0"], ["own.csv, line 1", "'loss_up' stands twice"]),
        (["# by me", HEADER, ROW], ["own.csv, line 1 is a comment", "last line"]),
        ([HEADER, "0,1e6,1e6,0,0,0,0"], ["own.csv", "line 2", "7 values", "8 columns"]),
        ([HEADER.replace("loss_up", "lossup"), "0,1e6,1e6,0,0,0,0,64000"], ["own.csv", "'lossup'"]),
        ([HEADER], ["own.csv", "no rows"]),
        ([HEADER, ROW, "# until=5"], ["own.csv", "# end_s=600"]),
        ([HEADER, ROW, "# end_s=soon"], ["own.csv", "# end_s=600"]),
        ([HEADER, "0,1e6,1e6,0,0,0,0,1.5"], ["own.csv", "line 2", "'queue_limit_bytes'", "whole"]),
        ([""], ["own.csv is empty", HEADER]),
    ],
)
def test_a_bad_file_is_named_with_what_is_wrong(tmp_path: Path, lines: list[str], words: list[str]) -> None:
    with pytest.raises(UserError) as refused:
        load_scenario(str(written(tmp_path, *lines)))
    for word in words:
        assert word in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_byte_order_mark_and_empty_lines_do_no_harm(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text(f"\ufeff{HEADER}\r\n\r\n{ROW}\r\n\r\n", encoding="utf-8")
    assert read_trace(path).table.num_rows == 1


def test_absent_and_foreign_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no trace file"):
        load_scenario(str(tmp_path / "none.csv"))
    (tmp_path / "bad.parquet").write_bytes(b"PAR?")
    with pytest.raises(UserError, match=r"bad\.parquet cannot be read"):
        load_scenario(str(tmp_path / "bad.parquet"))
    trace = read_trace(written(tmp_path, HEADER, ROW))
    parquet.write_table(trace.table.replace_schema_metadata({"end_s": "soon"}), tmp_path / "end.parquet")
    with pytest.raises(UserError, match=r"end\.parquet: the metadata key 'end_s' is not a number"):
        load_scenario(str(tmp_path / "end.parquet"))
    (tmp_path / "bad.csv").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match=r"bad\.csv cannot be read"):
        load_scenario(str(tmp_path / "bad.csv"))
