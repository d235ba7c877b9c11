//! What a gateway says about a file without converting it.

use serde::{Deserialize, Serialize};

/// A file's properties. A gateway that leaves something out does not know it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Properties {
    /// The version that the file says it has.
    pub version: String,
    /// Its size.
    pub bytes: u64,
    /// How many pages it has.
    pub pages: u32,
    /// Its fonts.
    pub fonts: Vec<FontProperties>,
    /// How many pictures it has.
    pub images: u32,
    /// Encrypted, though with an empty password.
    pub encrypted: bool,
    /// Was damaged.
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
pub struct FontProperties {
    /// As the file names it.
    pub name: String,
    /// Such as `Type1`, `TrueType`, `Type0`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Its program is inside of the file.
    pub embedded: bool,
}
