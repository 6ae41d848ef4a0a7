//! Tables of measurements that are kept as committed snapshots.

/// Values may differ by this share from the snapshot before somebody must look.
const TOLERANCE: f64 = 0.02;
/// Columns that name a row; the others are values.
const NAMING_COLUMNS: usize = 3;

/// Compares `table` with the committed `snapshot` from `file`, both with a headline. To renew the snapshot after an
/// intended change, run with RESTP_WRITE_SNAPSHOT=1 and read the difference.
pub fn compare(table: &str, snapshot: &str, file: &str) {
    if std::env::var_os("RESTP_WRITE_SNAPSHOT").is_some() {
        let path = format!("{}/tests/sim/{file}", env!("CARGO_MANIFEST_DIR"));
        std::fs::write(path, table).unwrap();
        return;
    }
    assert_eq!(table.lines().count(), snapshot.lines().count(), "{file}");
    for (now, then) in table.lines().zip(snapshot.lines()).skip(1) {
        let split = |line: &str| -> (String, Vec<f64>) {
            let words: Vec<&str> = line.split(' ').collect();
            let values = words[NAMING_COLUMNS..].iter().map(|word| word.parse().unwrap());
            (words[..NAMING_COLUMNS].join(" "), values.collect())
        };
        let ((row, now), (same, then)) = (split(now), split(then));
        assert_eq!(row, same, "{file}: the rows of the table changed");
        for (now, then) in now.iter().zip(&then) {
            assert!((now - then).abs() <= then * TOLERANCE, "{file}: {row}: {now}, was {then}");
        }
    }
}
