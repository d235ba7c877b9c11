//! Anonymous sessions: who a browser is, without knowing who.
//!
//! The store sees the hash of a session's secret, never the secret: whoever reads the table cannot use what is in it.

use std::fmt;
use std::time::Duration;

use redrive_model::{Shown, Timestamp};

use crate::TokenId;

/// SHA-256 of a session's secret.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct SessionKey([u8; 32]);

impl SessionKey {
    /// Wraps a hash.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The hash as the stores keep it.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

/// How long a session lives, by the store's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionLife {
    /// Without being seen.
    pub idle: Duration,
    /// In all.
    pub absolute: Duration,
}

/// A session that lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SessionRow {
    /// When it began.
    pub created_at: Timestamp,
    /// When it was last noted as seen.
    pub seen_at: Timestamp,
    /// How long ago that was.
    pub unseen: Duration,
    /// The token that it was begun with, where it was one.
    pub token: Option<TokenId>,
}

/// How many jobs of an owner people see in a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShownCount {
    /// The shown state.
    pub shown: Shown,
    /// How many.
    pub jobs: u64,
}

/// An owner's jobs are counted up to this many, the newest first.
pub const MAX_OWNER_COUNT: usize = 20_000;
