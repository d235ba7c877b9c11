//! What is noteworthy about a file, each with how bad it is and what helps.

use redrive_model::Code;

use super::facts::{Analysis, NoProperties, Pdf, Thresholds};
use super::{Font, Properties};
use crate::shown;

/// How bad an issue is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file cannot be processed as it is.
    Critical,
    /// It makes a failure likely.
    Warning,
    /// Good to know.
    Note,
}

impl Severity {
    /// The word that people read.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Critical => "Critical",
            Self::Warning => "Warning",
            Self::Note => "Note",
        }
    }
}

/// Something noteworthy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Issue {
    /// How bad it is.
    pub severity: Severity,
    /// What it is, with its numbers.
    pub what: String,
    /// What helps.
    pub advice: &'static str,
}

/// Fonts that every reader brings along need not be embedded.
const STANDARD: &[&str] = &["Courier", "Helvetica", "Times", "Symbol", "ZapfDingbats"];
/// So many fonts are named.
const NAMED: usize = 3;

/// Everything noteworthy, the worst first.
#[must_use]
pub fn issues(analysis: &Analysis) -> Vec<Issue> {
    let mut found = Vec::new();
    match &analysis.pdf {
        Pdf::Known(pdf) => inside(pdf, &analysis.thresholds, &mut found),
        Pdf::Unknown(why) => found.push(closed(*why)),
    }
    outside(analysis, &mut found);
    found.sort_by_key(|issue| issue.severity);
    found
}

/// Fonts that are missing on a machine that does not happen to have them.
pub(super) fn missing_fonts(pdf: &Properties) -> Vec<&Font> {
    let standard = |font: &Font| STANDARD.iter().any(|name| font.name.starts_with(name));
    pdf.fonts.iter().filter(|font| !font.embedded && !standard(font)).collect()
}

/// Pages that are pictures: there is nothing to read in them.
pub(super) fn is_scan(pdf: &Properties) -> bool {
    pdf.pages > 0 && pdf.fonts.is_empty() && pdf.images >= pdf.pages
}

/// More of something than usual.
pub(super) fn is_large(analysis: &Analysis) -> bool {
    let limits = &analysis.thresholds;
    let bytes = analysis.file.bytes.is_some_and(|bytes| bytes > limits.bytes);
    let inside = match &analysis.pdf {
        Pdf::Known(pdf) => pdf.bytes > limits.bytes || pdf.pages > limits.pages || pdf.images > limits.images,
        Pdf::Unknown(_) => false,
    };
    bytes || inside
}

fn closed(why: NoProperties) -> Issue {
    let (severity, what, advice) = match why {
        NoProperties::NotPdf => (
            Severity::Critical,
            "The file is not a PDF, whatever its name says.",
            "Open it with the program that made it and export it as a PDF.",
        ),
        NoProperties::Password => (
            Severity::Critical,
            "The file opens with a password only.",
            "Save a copy without a password and put that in its place.",
        ),
        NoProperties::Encryption => (
            Severity::Critical,
            "The file is protected in a way that cannot be opened here.",
            "Save a copy without protection and put that in its place.",
        ),
        NoProperties::Damaged => (
            Severity::Critical,
            "The file is damaged so badly that it cannot be opened.",
            "Copy it again from where it came from, or scan or export it anew.",
        ),
        NoProperties::Limits => (
            Severity::Critical,
            "The file cannot be looked at within the time and memory that one file may use.",
            "Split it into parts, or save it again with simpler graphics.",
        ),
        NoProperties::Missing => (
            Severity::Critical,
            "The file is no longer where it was.",
            "Find out who moved it, and put it back into the queue.",
        ),
        NoProperties::GatewayAway => (
            Severity::Note,
            "The file could not be looked at, because the converter did not answer.",
            "Ask for this analysis again when the converter is back.",
        ),
    };
    Issue { severity, what: what.to_owned(), advice }
}

fn inside(pdf: &Properties, limits: &Thresholds, found: &mut Vec<Issue>) {
    let mut add = |severity, what: String, advice| found.push(Issue { severity, what, advice });
    let number = |n: u32| shown::number(u64::from(n));
    if pdf.pages == 0 {
        add(
            Severity::Critical,
            "The file has no pages.".to_owned(),
            "Export or scan it anew: there is nothing in it.",
        );
    }
    if pdf.repaired {
        add(
            Severity::Warning,
            "The file is damaged. It could be opened after a repair; parts of it may be missing.".to_owned(),
            "Open it in a viewer, check every page, and save it again under the same name.",
        );
    }
    if pdf.encrypted {
        add(
            Severity::Warning,
            "The file is protected, though it opens without a password.".to_owned(),
            "Save a copy without protection.",
        );
    }
    if pdf.pages > limits.pages {
        let what = format!(
            "The file has {} pages, more than the usual {}.",
            number(pdf.pages),
            number(limits.pages)
        );
        add(Severity::Warning, what, "Split it into parts, one per chapter or volume.");
    }
    if pdf.images > limits.images {
        let what = format!(
            "The file has {} pictures, more than the usual {}.",
            number(pdf.images),
            number(limits.images)
        );
        add(
            Severity::Warning,
            what,
            "Split it into parts, or join the pieces of each page into one picture.",
        );
    }
    if is_scan(pdf) {
        add(
            Severity::Warning,
            "The pages are pictures without any text.".to_owned(),
            "Run text recognition (OCR) over the scan first.",
        );
    }
    let missing = missing_fonts(pdf);
    if missing.len() > usize::try_from(limits.fonts_not_embedded).unwrap_or(usize::MAX) {
        let named: Vec<String> = missing.iter().take(NAMED).map(|font| shown::line(&font.name, 40)).collect();
        let more = missing.len().saturating_sub(NAMED);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let count = shown::counted(missing.len() as u64, "font is", "fonts are");
        let what = format!("{count} not embedded: {}{rest}.", named.join(", "));
        add(Severity::Warning, what, "Export the file again with all fonts embedded, best as PDF/A.");
    }
    for (there, what, advice) in [
        (
            pdf.forms,
            "The file has form fields.",
            "Print it to a new PDF if their content is missing in results.",
        ),
        (
            pdf.attachments,
            "The file has other files inside. They are not processed.",
            "Take them out and put those that matter into the queue.",
        ),
        (
            pdf.javascript,
            "The file has scripts. They are never run.",
            "Print it to a new PDF if it shows other content than expected.",
        ),
    ] {
        if there {
            add(Severity::Note, what.to_owned(), advice);
        }
    }
}

fn outside(analysis: &Analysis, found: &mut Vec<Issue>) {
    let mut add = |severity, what: String, advice| found.push(Issue { severity, what, advice });
    match analysis.file.bytes {
        Some(0) => add(
            Severity::Critical,
            "The file is empty: it has no bytes.".to_owned(),
            "Copy it again; the copy before did not succeed.",
        ),
        Some(bytes) if bytes > analysis.thresholds.bytes => {
            let (is, usual) = (shown::short_size(bytes), shown::short_size(analysis.thresholds.bytes));
            let what = format!("The file has {is}, more than the usual {usual}.");
            add(Severity::Warning, what, "Split it into parts, or reduce the resolution of its pictures.");
        }
        Some(_) | None => {}
    }
    let attempts = &analysis.failure.attempts;
    let longest = attempts.iter().filter_map(|attempt| attempt.took).max();
    if let Some(took) = longest.filter(|took| *took > analysis.thresholds.attempt) {
        let what = format!("An attempt took {}.", shown::duration(millis(took)));
        add(Severity::Warning, what, "Split the file into parts: each is done sooner.");
    }
    let mut codes: Vec<Code> = attempts.iter().filter_map(|attempt| attempt.code).collect();
    codes.sort_unstable();
    codes.dedup();
    if codes.len() > 1 {
        let names: Vec<&str> = codes.iter().map(|code| code.name()).collect();
        let what = format!("The attempts failed for different reasons: {}.", names.join(", "));
        add(
            Severity::Note,
            what,
            "Look at the table of attempts: the surroundings may have changed in between.",
        );
    }
}

pub(super) fn millis(took: std::time::Duration) -> u64 {
    u64::try_from(took.as_millis()).unwrap_or(u64::MAX)
}
