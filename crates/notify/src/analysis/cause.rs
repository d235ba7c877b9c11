//! The likely cause in plain words, and the next step. The first rule that fits speaks.

use redrive_model::{Category, Class, Code};

use super::facts::{Analysis, NoProperties, Pdf};
use super::issues::{Severity, is_large, is_scan, issues};

/// What probably went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Likely {
    /// In one or two sentences.
    pub cause: String,
    /// The next step for the owner.
    pub next: String,
}

/// Failures that a file of this size explains.
const BY_SIZE: &[Code] = &[
    Code::GwTimeout,
    Code::GwRequestTimeout,
    Code::GwLimitExceeded,
    Code::GwTooManyPages,
    Code::GwResponseTooLarge,
    Code::GwTruncated,
    Code::HandlerTimeout,
    Code::MemoryError,
    Code::SystemDeadline,
    Code::SystemTimeout,
    Code::TooLarge,
];

/// Failures of whoever reads the file's inside.
const BY_CONTENT: &[Code] = &[Code::Gw4xx, Code::GwBadResponse, Code::ParseError, Code::HandlerFailed];

/// Derives the cause from the failure and from what the file is.
#[must_use]
pub fn likely_cause(analysis: &Analysis) -> Likely {
    let code = analysis.failure.code;
    let entry = code.entry();
    let worst = issues(analysis).into_iter().find(|issue| issue.severity == Severity::Critical);
    let say = |cause: &str, next: &str| Likely { cause: cause.to_owned(), next: next.to_owned() };
    // What stops everybody explains every failure.
    if let Some(worst) = worst {
        return say(&worst.what, worst.advice);
    }
    if BY_SIZE.contains(&code) && is_large(analysis) {
        return say(
            "The file is very large, and processing it takes more time or memory than one file may use.",
            "Split the file into parts, put them into the queue, and remove the large one.",
        );
    }
    let (mut repaired, mut protected, mut scan) = (false, false, false);
    let mut away = false;
    match &analysis.pdf {
        Pdf::Known(pdf) => {
            (repaired, protected, scan) = (pdf.repaired, pdf.encrypted, is_scan(pdf));
        }
        Pdf::Unknown(NoProperties::GatewayAway) => away = true,
        Pdf::Unknown(_) => {}
    }
    if BY_CONTENT.contains(&code) && repaired {
        return say(
            "The file is damaged. A viewer may show it, but its inner structure is broken.",
            "Open it in a viewer, save it again under the same name, and put that into the queue.",
        );
    }
    if BY_CONTENT.contains(&code) && protected {
        return say(
            "The file is protected against changes or copying, and the converter respects that.",
            "Save a copy without protection and put that into the queue.",
        );
    }
    if BY_CONTENT.contains(&code) && scan {
        return say(
            "The file is a scan without text, and the converter found nothing that it could use.",
            "Run text recognition (OCR) over the scan and put the result into the queue.",
        );
    }
    match (entry.class, entry.category) {
        (Class::Crash, _) => say(
            "Processing this file ended the program that did it, more than once. Something in the file is unusual.",
            "Save the file again with another program, and tell the operator: this should not happen.",
        ),
        (Class::Environment, _) | (_, Category::Storage | Category::System | Category::Notify) => {
            surroundings(entry.what_happened)
        }
        (Class::Transient | Class::Throttled, Category::Gateway | Category::Upload | Category::Download) => {
            surroundings(entry.what_happened)
        }
        (
            Class::Transient | Class::Throttled | Class::Permanent | Class::Request,
            Category::Validation
            | Category::Authorization
            | Category::Request
            | Category::Gateway
            | Category::Download
            | Category::Upload
            | Category::Handler,
        ) => {
            let unseen = if away { " The file itself could not be looked at." } else { "" };
            say(&format!("{}{unseen}", entry.what_happened), entry.what_you_can_do)
        }
    }
}

fn surroundings(what_happened: &str) -> Likely {
    Likely {
        cause: format!("Probably not the file. {what_happened}"),
        next: "Put the file back into the queue. If it fails again, tell the operator.".to_owned(),
    }
}
