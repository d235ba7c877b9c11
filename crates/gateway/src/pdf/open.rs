//! Opens the file and finds out whether it had to be repaired.

use super::census;
use super::limits::Limits;
use super::refusal::Refusal;
use hayro_syntax::{DecryptionError, LoadPdfError, Pdf};
use memchr::memmem;

/// A file that could be opened.
pub(crate) struct Opened {
    pub(crate) pdf: Pdf,
    pub(crate) repaired: bool,
}

/// Opens a file with the empty password.
pub(crate) fn open(bytes: Vec<u8>, limits: &Limits) -> Result<Opened, Refusal> {
    census::check(&bytes, limits)?;
    let repaired = !sound(&bytes);
    let pdf = Pdf::new(bytes).map_err(|error| match error {
        LoadPdfError::Invalid => Refusal::InvalidPdf,
        LoadPdfError::Decryption(error) => match error {
            DecryptionError::PasswordProtected => Refusal::PasswordRequired,
            DecryptionError::UnsupportedAlgorithm => Refusal::UnsupportedEncryption,
            DecryptionError::MissingIDEntry | DecryptionError::InvalidEncryption => Refusal::InvalidPdf,
        },
    })?;
    let pages = u64::try_from(pdf.pages().len()).unwrap_or(u64::MAX);
    if pages == 0 {
        return Err(Refusal::InvalidPdf);
    }
    if pages > limits.pages {
        return Err(Refusal::TooManyPages { pages, limit: limits.pages });
    }
    Ok(Opened { pdf, repaired })
}

/// Whether the file's own table of objects is where it should be and points at objects. If not, the parser searches the
/// whole file for objects and makes a table of what it finds.
fn sound(bytes: &[u8]) -> bool {
    table(bytes).is_some_and(|table| {
        let start = table.trim_ascii_start();
        match start.strip_prefix(b"xref") {
            Some(entries) => entries_sound(bytes, entries),
            // A stream: its own numbers come first.
            None => numbers_of_object(start).is_some(),
        }
    })
}

fn table(bytes: &[u8]) -> Option<&[u8]> {
    let at = memmem::rfind(bytes, b"startxref")?;
    let offset = leading_number(bytes.get(at + b"startxref".len()..)?)?.0;
    bytes.get(usize::try_from(offset).ok()?..)
}

/// Each line of a table says where an object begins.
fn entries_sound(bytes: &[u8], mut rest: &[u8]) -> bool {
    loop {
        let text = rest.trim_ascii_start();
        if text.starts_with(b"trailer") {
            return true;
        }
        let Some((first, after)) = leading_number(text) else { return false };
        let Some((count, after)) = leading_number(after) else { return false };
        rest = after.trim_ascii_start();
        for number in first..first.saturating_add(count) {
            let Some((entry, after)) = rest.split_at_checked(20) else { return false };
            rest = after;
            if entry.get(17) != Some(&b'n') {
                continue;
            }
            let offset = leading_number(entry);
            if offset.is_some_and(|(offset, _)| offset == 0) {
                // Some writers mark objects that they never wrote as used, at no place.
                continue;
            }
            let object = offset
                .and_then(|(offset, _)| bytes.get(usize::try_from(offset).ok()?..))
                .and_then(|object| numbers_of_object(object.trim_ascii_start()));
            if object != Some(number) {
                return false;
            }
        }
    }
}

/// The number of the object that begins here (`12 0 obj`).
fn numbers_of_object(text: &[u8]) -> Option<u64> {
    let (number, rest) = leading_number(text)?;
    let (_, rest) = leading_number(rest)?;
    rest.trim_ascii_start().starts_with(b"obj").then_some(number)
}

fn leading_number(text: &[u8]) -> Option<(u64, &[u8])> {
    let text = text.trim_ascii_start();
    let digits = text.iter().take(20).take_while(|b| b.is_ascii_digit()).count();
    let (number, rest) = text.split_at_checked(digits)?;
    Some((std::str::from_utf8(number).ok()?.parse().ok()?, rest))
}
