//! Soak run: `cargo run --release --example soak -- [packets] [seed]`, ten million packets by default.

#[path = "../tests/sim/soak.rs"]
mod soak;

fn main() {
    let mut arguments = std::env::args().skip(1).map(|argument| argument.parse::<u64>());
    let (packets, seed) = match (arguments.next().transpose(), arguments.next().transpose()) {
        (Ok(packets), Ok(seed)) => (packets.unwrap_or(10_000_000), seed.unwrap_or(1)),
        _ => {
            eprintln!("Usage: soak [packets] [seed], both whole numbers.");
            std::process::exit(2);
        }
    };
    println!("soak: {packets} packets, seed {seed}");
    let outcomes = soak::soak(packets, seed);
    for outcome in &outcomes {
        println!(
            "{:<30} {:>9} packets {:>9} messages {:>7} passed over",
            outcome.name, outcome.packets, outcome.messages, outcome.passed_over
        );
    }
    let total: u64 = outcomes.iter().map(|outcome| outcome.packets).sum();
    println!("{total} packets: nothing lost, duplicated or reordered beyond the contract");
}
