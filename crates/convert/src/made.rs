//! A result, as the attempt that made it noted it, and as the job's row refers to it.

use redrive_blob::{Blobs, BlobsExt, Key, Sha256};
use serde::{Deserialize, Serialize};

/// One result. Noted under the lease before the file gets its name, so that whoever comes after a crash knows what the file
/// must be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Made {
    /// The key of the XML.
    pub key: String,
    /// Its hash, in hexadecimal.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// Pages, where the gateway said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// What the gateway warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
}

impl Made {
    /// Reads what a row refers to; nothing when it is no result of ours.
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

    /// What it must be.
    #[must_use]
    pub fn hash(&self) -> Option<Sha256> {
        Sha256::parse(&self.sha256)
    }

    /// Whether the file is there and is what was noted. Anything else is no result.
    pub async fn still_stands(&self, results: &dyn Blobs) -> bool {
        match (self.key(), self.hash()) {
            (Some(key), Some(hash)) => results.verify(&key, &hash).await.is_ok(),
            (None, _) | (_, None) => false,
        }
    }
}
