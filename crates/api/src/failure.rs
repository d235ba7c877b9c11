//! The registry on the wire.

use redrive_model::failure::Entry;
use serde::Serialize;
use utoipa::ToSchema;

/// One row of the failure registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct FailureEntry {
    /// The code.
    pub code: &'static str,
    /// Its family.
    pub category: String,
    /// What policy does with it.
    pub class: String,
    /// The status of an answer with it.
    pub http_status: u16,
    /// What people outside see in its place.
    pub public_code: &'static str,
    /// What happened.
    pub message: &'static str,
    /// What Redrive does about it.
    pub what_we_do: &'static str,
    /// The next step for the person.
    pub what_you_can_do: &'static str,
}

impl From<&Entry> for FailureEntry {
    fn from(entry: &Entry) -> Self {
        Self {
            code: entry.name,
            category: entry.category.to_string(),
            class: entry.class.to_string(),
            http_status: entry.http_status,
            public_code: entry.public.name(),
            message: entry.what_happened,
            what_we_do: entry.what_we_do,
            what_you_can_do: entry.what_you_can_do,
        }
    }
}
