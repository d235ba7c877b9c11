//! Why a file is not read.
//!
//! Each refusal is permanent: the same bytes will be refused again, so the gateway answers 400 with the refusal's code and
//! nobody retries. A fault of our own is no refusal.

use thiserror::Error;

/// Why a file is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Refusal {
    /// No page can be found in it, not even by repair.
    #[error("not a PDF, or damaged beyond repair")]
    InvalidPdf,
    /// It opens with a password only.
    #[error("a password is needed to open the file")]
    PasswordRequired,
    /// It is encrypted in a way that we do not know, by a certificate for example.
    #[error("the file's encryption is not supported")]
    UnsupportedEncryption,
    /// It has more pages than are converted in one go.
    #[error("the file has {pages} pages, more than {limit}")]
    TooManyPages {
        /// How many it has.
        pages: u64,
        /// How many are allowed.
        limit: u64,
    },
    /// It needs more of something than any honest file does.
    #[error("the file passes a limit: {0}")]
    LimitExceeded(Limit),
}

/// The limit that a file passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Limit {
    /// Glyphs in all pages together.
    #[error("glyphs")]
    Glyphs,
    /// Arrays and dictionaries inside each other, or forms that draw forms.
    #[error("nesting")]
    Nesting,
    /// Bytes that one stream unpacks to.
    #[error("size of a stream")]
    StreamBytes,
    /// Bytes that all streams unpack to.
    #[error("size of all streams")]
    DocumentBytes,
    /// Filters that one stream is packed with.
    #[error("filters of a stream")]
    Filters,
    /// Objects in the file.
    #[error("objects")]
    Objects,
    /// Operators in the content of all pages.
    #[error("operators")]
    Operators,
}

impl Refusal {
    /// The inner code that the gateway answers with.
    pub fn code(self) -> &'static str {
        match self {
            Self::InvalidPdf => "invalid_pdf",
            Self::PasswordRequired => "password_required",
            Self::UnsupportedEncryption => "unsupported_encryption",
            Self::TooManyPages { .. } => "too_many_pages",
            Self::LimitExceeded(_) => "limit_exceeded",
        }
    }
}
