//! Names of environment variables.

/// Variables of the contract that no parameter may shadow, without their common beginning.
const RESERVED: [&str; 17] = [
    "ROLE",
    "FLOW",
    "APP",
    "DIRECTION",
    "SERVER_ADDRESS",
    "CLIENT_ADDRESS",
    "PORT",
    "SERVER_NAME",
    "CA",
    "CERTIFICATE",
    "KEY",
    "SEED",
    "TIME_LEFT_S",
    "RESULT",
    "KEYLOG",
    "QLOG",
    "SCRATCH",
];

/// Whether a parameter of this name would take the place of a variable of the contract.
pub(super) fn is_reserved(key: &str) -> bool {
    RESERVED.contains(&key.to_uppercase().as_str())
}

/// The environment variable of a parameter: `size_bytes` is GAUNTLET_SIZE_BYTES.
pub(super) fn variable(key: &str) -> String {
    format!("GAUNTLET_{}", key.to_uppercase())
}
