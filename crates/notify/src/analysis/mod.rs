//! A failure analysis: why a file could not be processed, as a document that people open in Word or LibreOffice.
//!
//! Pure: facts in, bytes out. The same facts make the same bytes, so a document that is written twice is written once. What is
//! derived, [`issues`] and [`likely_cause`], are functions of their own; `document` only lays out.

mod cause;
mod document;
mod facts;
mod issues;
mod layout;
mod package;

pub use cause::{Likely, likely_cause};
pub use document::document;
pub use facts::{Analysis, Attempt, FileFacts, NoProperties, OriginalFailure, Pdf, Thresholds};
pub use issues::{Issue, Severity, issues};
pub use redrive_model::pdf::{Font, Properties};

/// Why there is no document. It does not depend on the facts: memory or the packer's own limits.
#[derive(Debug, thiserror::Error)]
#[error("the document could not be packed: {0}")]
pub struct DocumentError(pub(crate) String);

#[cfg(test)]
mod tests;
