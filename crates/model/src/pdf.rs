//! What a PDF is, as a gateway's `/inspect` says it: the one shape for whoever asks and for whoever tells people.

use serde::{Deserialize, Serialize};

/// A file's properties. What a gateway leaves out it does not know.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Properties {
    /// The version that the file says it has.
    pub version: String,
    /// Its size.
    pub bytes: u64,
    /// How many pages it has.
    pub pages: u32,
    /// Every font that a page names.
    pub fonts: Vec<Font>,
    /// Pictures, each counted once.
    pub images: u32,
    /// Encrypted, though it opens without a password.
    pub encrypted: bool,
    /// Was damaged, and could be repaired.
    pub repaired: bool,
    /// Has scripts.
    pub javascript: bool,
    /// Has files inside.
    pub attachments: bool,
    /// Has form fields.
    pub forms: bool,
    /// Has a structure tree.
    pub tagged: bool,
    /// The title of its own description.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<String>,
    /// The program that wrote it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub producer: Option<String>,
}

/// A font of a file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Font {
    /// As the file names it.
    pub name: String,
    /// Such as `Type1`, `TrueType`, `Type0`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its program is inside of the file.
    pub embedded: bool,
}
