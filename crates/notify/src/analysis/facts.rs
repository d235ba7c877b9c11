//! What an analysis is made of.
//!
//! Names and messages are taken as they come; they are cleaned and cut where they are shown.

use std::time::Duration;

use jiff::tz::TimeZone;
use redrive_model::pdf::Properties;
use redrive_model::{Code, Timestamp};

/// Everything that is known about a file that failed.
#[derive(Debug, Clone, PartialEq)]
pub struct Analysis {
    /// The file.
    pub file: FileFacts,
    /// Why it failed.
    pub failure: OriginalFailure,
    /// What it is inside.
    pub pdf: Pdf,
    /// What counts as much.
    pub thresholds: Thresholds,
    /// When the analysis is made.
    pub made: Timestamp,
    /// In which zone times are told.
    pub zone: TimeZone,
    /// Where there is more to see: an `http` address. Anything else is left out.
    pub link: Option<String>,
}

/// The file as its owner knows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FileFacts {
    /// Its name, without folders.
    pub name: String,
    /// Where it lies now.
    pub path: String,
    /// Its size, when it could be asked for.
    pub bytes: Option<u64>,
    /// The hash of its bytes, once it was read.
    pub sha256: Option<String>,
    /// Whose it is.
    pub owner: String,
    /// When it was taken in.
    pub received: Option<Timestamp>,
    /// When the last attempt ended.
    pub processed: Option<Timestamp>,
}

/// The failure that ended it. Its three sentences come from the registry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OriginalFailure {
    /// The code that people are told; the caller decides whether it is the inner or the public one.
    pub code: Code,
    /// What the attempt said.
    pub message: String,
    /// It is not tried again by itself. What the registry says about retries is history then.
    pub given_up: bool,
    /// Every attempt, oldest first.
    pub attempts: Vec<Attempt>,
}

/// One attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attempt {
    /// Counted from 1.
    pub number: u32,
    /// When it began.
    pub started: Timestamp,
    /// How long it took, when that is known.
    pub took: Option<Duration>,
    /// How it ended, in a word or two: `failed`, `worker lost`.
    pub outcome: String,
    /// Its failure, when it had one.
    pub code: Option<Code>,
}

/// What is known about the inside of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Pdf {
    /// What the gateway's `/inspect` answered.
    Known(Properties),
    /// Why there is no answer.
    Unknown(NoProperties),
}

/// Why a file's properties could not be had.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoProperties {
    /// It is no PDF.
    NotPdf,
    /// It opens with a password only.
    Password,
    /// It is protected in a way that the reader does not know.
    Encryption,
    /// It is a PDF, too damaged to be opened.
    Damaged,
    /// Opening it takes more time or memory than one file may use.
    Limits,
    /// It is gone.
    Missing,
    /// Nobody could be asked; this says nothing about the file.
    GatewayAway,
}

impl NoProperties {
    const CODES: &'static [(Code, Self)] = &[
        (Code::NotPdf, Self::NotPdf),
        (Code::GwPasswordRequired, Self::Password),
        (Code::GwUnsupportedEncryption, Self::Encryption),
        (Code::ParseError, Self::Damaged),
        (Code::GwLimitExceeded, Self::Limits),
        (Code::GwTooManyPages, Self::Limits),
        (Code::TooLarge, Self::Limits),
        (Code::SourceMissing, Self::Missing),
    ];

    /// What a failed `/inspect` means. A code that says nothing about the file is [`NoProperties::GatewayAway`].
    #[must_use]
    pub fn of(code: Code) -> Self {
        Self::CODES.iter().find(|(known, _)| *known == code).map_or(Self::GatewayAway, |(_, why)| *why)
    }
}

/// From where on something is worth a word. A number that is reached is none yet; one above it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Thresholds {
    /// Bytes of the file.
    pub bytes: u64,
    /// Pages.
    pub pages: u32,
    /// Pictures.
    pub images: u32,
    /// Fonts that are neither in the file nor on every machine.
    pub fonts_not_embedded: u32,
    /// One attempt's time.
    pub attempt: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            bytes: 50_000_000,
            pages: 500,
            images: 1_000,
            fonts_not_embedded: 0,
            attempt: Duration::from_secs(120),
        }
    }
}
