//! How much one manifest may have.

/// The bounds of a manifest. Memory stays within the largest part that is held: a JSON document, a line, or what is held back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ManifestLimits {
    /// Most resources of a JSON document.
    pub json_resources: usize,
    /// Largest JSON document, decoded.
    pub json_bytes: usize,
    /// Most resources, one a line.
    pub resources: u32,
    /// Longest line.
    pub line_bytes: usize,
    /// Largest body, as it is sent.
    pub encoded_bytes: u64,
    /// Largest body, unpacked.
    pub decoded_bytes: u64,
    /// Up to so many bytes are held in memory and handed in with their batch in one piece; the rest is unpacked by a job.
    pub held_bytes: usize,
    /// And up to so many resources.
    pub held_resources: usize,
    /// So many problems are listed.
    pub problems: usize,
}

impl Default for ManifestLimits {
    fn default() -> Self {
        Self {
            json_resources: 1_000,
            json_bytes: 8 << 20,
            resources: 1_000_000,
            line_bytes: 256 << 10,
            encoded_bytes: 1 << 30,
            decoded_bytes: 1 << 30,
            held_bytes: 8 << 20,
            held_resources: redrive_engine::model::limits::MAX_ENQUEUE,
            problems: 20,
        }
    }
}
