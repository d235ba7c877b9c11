//! What the gateway can make.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// One mapping. The first of the list is the default.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Mapping {
    /// What an upload asks for.
    pub name: String,
    /// What people read.
    pub title: String,
    /// Where its schema is.
    pub schema: Option<String>,
    /// What it gives.
    pub media_type: Option<String>,
}
