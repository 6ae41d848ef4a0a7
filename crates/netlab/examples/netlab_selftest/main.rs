//! Checks of what only a kernel can show: rates, delays, losses, paths, captures. Runs as the first process
//! of a guest (or as root elsewhere, in real time, where the exact checks fail) and prints one line a check,
//! then `selftest: N passed, M failed`. An argument runs only the checks whose name contains it.

#[path = "../common/mod.rs"]
mod common;

mod captures;
mod check;
mod delays;
mod in_path;
mod lifecycle;
mod losses;
mod paths;
mod rates;
mod traffic;

use std::panic::catch_unwind;

fn main() {
    common::run_as_first_process(|| {
        let wanted = std::env::args().nth(1).filter(|word| !word.contains('='));
        let groups = [
            rates::CHECKS,
            delays::CHECKS,
            losses::CHECKS,
            paths::CHECKS,
            captures::CHECKS,
            in_path::CHECKS,
            lifecycle::CHECKS,
        ];
        let (mut passed, mut failed) = (0, 0);
        for (name, check) in groups.into_iter().flatten() {
            if wanted.as_ref().is_some_and(|word| !name.contains(word.as_str())) {
                continue;
            }
            match catch_unwind(check).unwrap_or_else(|_| Err("it panicked".into())) {
                Ok(finding) => {
                    passed += 1;
                    println!("ok    {name}: {finding}");
                }
                Err(reason) => {
                    failed += 1;
                    println!("FAIL  {name}: {reason}");
                }
            }
        }
        println!("selftest: {passed} passed, {failed} failed");
        Ok(())
    });
}
