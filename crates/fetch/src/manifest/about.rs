//! What a batch keeps of its manifest.

use redrive_engine::store::BatchRow;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Kept with the batch, as JSON. It has no secrets.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Where the manifest is stored.
    pub manifest_key: String,
    /// How many resources it has.
    pub resource_count: u32,
    /// Where objects were asked to go.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Whose proxies are used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proxy_pool: Option<String>,
    /// What people say about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Map<String, Value>>,
}

impl About {
    /// What a batch says; nothing when it did not come from a manifest.
    #[must_use]
    pub fn of(row: &BatchRow) -> Option<Self> {
        serde_json::from_str(row.about.as_deref()?).ok()
    }
}
