//! The key under which two jobs are the same job.
//!
//! The stores keep a fixed 32 bytes in a partial unique index; what goes into them is decided here, so that no two
//! workloads or owners can ever meet.

use std::fmt;

use sha2::{Digest, Sha256};

use crate::name::{Owner, WorkloadName};

/// SHA-256 over workload, owner and the workload's own parts.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DedupeKey([u8; 32]);

impl DedupeKey {
    /// Hashes the parts with their lengths, so that `("ab", "c")` and `("a", "bc")` differ.
    #[must_use]
    pub fn new(workload: &WorkloadName, owner: Option<&Owner>, parts: &[&[u8]]) -> Self {
        let mut hash = Sha256::new();
        let head = [workload.as_str().as_bytes(), owner.map_or(&[][..], |o| o.as_str().as_bytes())];
        for part in head.iter().chain(parts) {
            hash.update((part.len() as u64).to_le_bytes());
            hash.update(part);
        }
        Self(hash.finalize().into())
    }

    /// Wraps a key that came from a store.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The key as the stores keep it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for DedupeKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DedupeKey(")?;
        self.0.iter().take(4).try_for_each(|byte| write!(f, "{byte:02x}"))?;
        f.write_str("…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owner_workload_and_borders_between_parts_matter() {
        let w = |s: &str| WorkloadName::new(s).unwrap();
        let o = |s: &str| Owner::new(s).unwrap();
        let base = DedupeKey::new(&w("convert"), Some(&o("ann")), &[b"ab", b"c"]);
        assert_eq!(base, DedupeKey::new(&w("convert"), Some(&o("ann")), &[b"ab", b"c"]));
        assert_ne!(base, DedupeKey::new(&w("convert"), Some(&o("ann")), &[b"a", b"bc"]));
        assert_ne!(base, DedupeKey::new(&w("convert"), Some(&o("bob")), &[b"ab", b"c"]));
        assert_ne!(base, DedupeKey::new(&w("convert"), None, &[b"ab", b"c"]));
        assert_ne!(base, DedupeKey::new(&w("fetch"), Some(&o("ann")), &[b"ab", b"c"]));
    }
}
