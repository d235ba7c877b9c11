//! A stored resource, as the job's row refers to it.

use std::collections::BTreeMap;

use redrive_blob::{Key, Sha256};
use serde::{Deserialize, Serialize};

/// What was stored where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// Which of the listed places; `FETCH_TO` where none is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
    /// The key of the object.
    pub key: String,
    /// Its size.
    pub bytes: u64,
    /// Its hash, in hexadecimal.
    pub sha256: Sha256,
    /// What the origin said that it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_type: Option<String>,
    /// The coding in which an origin sent it unasked; it is stored as it came.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub content_encoding: Option<String>,
    /// The status of the answer that brought it.
    pub status: u16,
    /// What handlers said about it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tags: BTreeMap<String, String>,
}

impl Made {
    /// Reads what a row refers to; nothing when it is none of ours.
    #[must_use]
    pub fn parse(reference: &str) -> Option<Self> {
        serde_json::from_str(reference).ok()
    }

    /// As the row refers to it.
    #[must_use]
    pub fn reference(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Where it lies.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        Key::parse(&self.key).ok()
    }
}
