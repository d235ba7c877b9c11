//! The seam between reading and writing: what a reader offers, and what it says when it refuses.
//!
//! Everything here runs inside the child. A reader is one thread without files or network: the cage takes both away.

use std::fmt;
use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use crate::page::{Document, Warnings};

/// Turns the bytes of a PDF into a document.
pub trait Reader {
    /// What it can say of a file without its text; the answer of `POST /inspect`, as JSON.
    type Properties: Serialize;

    /// Reads the file, or those of its pages that lie in the range (from 1; what lies beyond the end is left out).
    ///
    /// A refusal is final: the same file will be refused again.
    fn read(&self, pdf: Vec<u8>, pages: Option<RangeInclusive<u32>>) -> Result<Document, Refusal>;

    /// What the file is, without its text.
    fn inspect(&self, pdf: Vec<u8>) -> Result<Self::Properties, Refusal>;
}

/// Why a file is not converted. It is always the file's fault.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{code}: {detail}")]
pub struct Refusal {
    /// The inner code.
    pub code: RefusalCode,
    /// One sentence for people. It holds no text of the document.
    pub detail: String,
}

impl Refusal {
    /// A refusal with its sentence.
    pub fn new(code: RefusalCode, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }
}

/// The inner codes that a file can earn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// Not a PDF, or one that is beyond repair.
    InvalidPdf,
    /// It opens only with a password.
    PasswordRequired,
    /// It is encrypted in a way that we do not know.
    UnsupportedEncryption,
    /// It has more pages than one file may have.
    TooManyPages,
    /// It needs more time, memory or space than one file may use.
    LimitExceeded,
}

impl RefusalCode {
    /// The word in the answer.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidPdf => "invalid_pdf",
            Self::PasswordRequired => "password_required",
            Self::UnsupportedEncryption => "unsupported_encryption",
            Self::TooManyPages => "too_many_pages",
            Self::LimitExceeded => "limit_exceeded",
        }
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a careful reader of the XML should know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Warning {
    /// No page has any text; the document is valid and empty.
    NoTextLayer,
    /// The file was damaged and has been repaired while reading.
    Repaired,
    /// Some glyphs have no known character and appear as U+FFFD.
    UnmappedGlyphs,
    /// Some characters are not allowed in XML and appear as U+FFFD.
    ReplacedCharacters,
    /// Some pages could not be read and are given as empty ones.
    UnreadablePages,
}

impl Warning {
    /// The word in `X-Warnings`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoTextLayer => "no-text-layer",
            Self::Repaired => "repaired",
            Self::UnmappedGlyphs => "unmapped-glyphs",
            Self::ReplacedCharacters => "replaced-characters",
            Self::UnreadablePages => "unreadable-pages",
        }
    }

    /// All that apply, in a fixed order. `replaced` is what the writer replaced on top of what the reader did.
    pub fn all_of(warnings: Warnings, replaced: u64) -> Vec<Self> {
        [
            (warnings.no_text_layer, Self::NoTextLayer),
            (warnings.repaired, Self::Repaired),
            (warnings.unmapped_glyphs > 0, Self::UnmappedGlyphs),
            (warnings.replaced_characters > 0 || replaced > 0, Self::ReplacedCharacters),
            (warnings.unreadable_pages > 0, Self::UnreadablePages),
        ]
        .into_iter()
        .filter_map(|(applies, warning)| applies.then_some(warning))
        .collect()
    }
}
