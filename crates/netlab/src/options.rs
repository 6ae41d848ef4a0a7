//! What making a network needs beside its description.

use crate::Sysctls;

/// What [`Network::build`](crate::Network::build) needs beside the network itself.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// The run's seed; each generator of netem or of a relay gets its own from this and the link direction's name.
    pub seed: u64,
    /// Kernel settings, applied in every node before its interfaces are made.
    pub sysctls: Sysctls,
    /// What becomes of those that belong to the whole kernel.
    pub whole_kernel: WholeKernel,
    /// Link directions, `a>b`, on whose links a relay does what else netem does, because the kernel has none.
    pub relayed: Vec<String>,
}

/// What becomes of settings that belong to the whole kernel and not to a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WholeKernel {
    /// They are set: the kernel serves this network alone.
    #[default]
    Set,
    /// They are left as they are: others use the kernel too.
    Leave,
}
