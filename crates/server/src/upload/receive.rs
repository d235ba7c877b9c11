//! Reading the form: the file goes to its place chunk by chunk, the rest is small.

use redrive_blob::{BlobError, Sealed, Upload};
use redrive_door::multipart::{Multipart, MultipartError};
use redrive_engine::Failure;
use redrive_model::Code;

use super::content::Sniff;
use super::{name, too_large};
use crate::app::App;
use crate::disk::Incoming;
use crate::refusal::Refusal;

/// The longest name of a mapping.
const MAPPING_BYTES: usize = 255;

/// A form that is whole: its file is on the disk and has no name yet.
pub(crate) struct Received {
    pub(crate) sealed: Sealed,
    pub(crate) name: String,
    pub(crate) mapping: String,
}

/// Why there is no file.
pub(crate) enum Refused {
    /// The request is wrong or broke off: nothing is left of it.
    Request(Refusal),
    /// The file is refused: its owner shall see that.
    File { name: String, mapping: String, bytes: u64, why: Failure },
}

impl From<Refusal> for Refused {
    fn from(refusal: Refusal) -> Self {
        Self::Request(refusal)
    }
}

/// Reads the form to its end, or as far as it takes to refuse it.
pub(crate) async fn receive(app: &App, mut form: Multipart, too_long: bool) -> Result<Received, Refused> {
    let mut file: Option<(Sealed, String)> = None;
    let mut mapping: Option<String> = None;
    while let Some(part) = form.next_part().await.map_err(malformed)? {
        match part.name.as_str() {
            "file" if file.is_some() => return Err(twice("file")),
            "mapping" if mapping.is_some() => return Err(twice("mapping")),
            "file" => {
                let name = name::display(part.filename.as_deref().unwrap_or_default());
                let stored = if too_long {
                    Err(Stopped::of(too_large(app.limits().max_upload), 0))
                } else {
                    store(app, &mut form).await
                };
                match stored {
                    Ok(sealed) => file = Some((sealed, name)),
                    Err(Stopped::Request(refusal)) => return Err(refusal.into()),
                    Err(Stopped::File { why, bytes }) => {
                        let mapping = mapping.unwrap_or_else(|| app.mappings().default_name());
                        return Err(Refused::File { name, mapping, bytes, why: *why });
                    }
                }
            }
            "mapping" => mapping = Some(known_mapping(app, &mut form).await?),
            other => {
                let other = redrive_model::text::one_line(other, 64, false);
                let text = format!("There is no field {other:?}: use file and mapping.");
                return Err(Refusal::new(Code::ValidationUnknownField, text).into());
            }
        }
    }
    let Some((sealed, name)) = file else {
        return Err(Refusal::new(Code::ValidationMissingField, "There is no field file.").into());
    };
    Ok(Received { sealed, name, mapping: mapping.unwrap_or_else(|| app.mappings().default_name()) })
}

/// Why a file was not taken to its end.
pub(super) enum Stopped {
    /// The request is wrong or broke off.
    Request(Refusal),
    /// The file is refused after so many bytes.
    File { why: Box<Failure>, bytes: u64 },
}

impl Stopped {
    fn of(why: Failure, bytes: u64) -> Self {
        Self::File { why: Box::new(why), bytes }
    }
}

/// The mapping that a field names, if there is such a one; the default when it is empty.
pub(super) async fn known_mapping(app: &App, form: &mut Multipart) -> Result<String, Refusal> {
    let name = small(form, "mapping").await?;
    if name.is_empty() { Ok(app.mappings().default_name()) } else { app.mappings().check(&name) }
}

/// Writes the file's bytes and looks at them on the way.
pub(super) async fn store(app: &App, form: &mut Multipart) -> Result<Sealed, Stopped> {
    let limit = app.limits().max_upload;
    let lost = |error: BlobError, bytes: u64| match error {
        BlobError::TooLarge { limit } => Stopped::of(too_large(limit), bytes),
        error => Stopped::of(Failure { code: Code::IoError, ..error.failure() }, bytes),
    };
    let mut upload: Upload = app.sources().begin(limit).await.map_err(|error| lost(error, 0))?;
    let (mut sniff, mut room) = (Sniff::default(), app.disk().watch_over(Incoming::Upload));
    loop {
        let chunk = match form.chunk().await {
            Ok(Some(chunk)) => chunk,
            Ok(None) => break,
            Err(MultipartError::TooLarge) => return Err(Stopped::of(too_large(limit), upload.bytes())),
            Err(error) => return Err(Stopped::Request(malformed(error))),
        };
        sniff.push(&chunk);
        room.count(chunk.len() as u64).await.map_err(Stopped::Request)?;
        let bytes = upload.bytes().saturating_add(chunk.len() as u64);
        upload.write(chunk).await.map_err(|error| lost(error, bytes))?;
        if sniff.is_hopeless() {
            return Err(Stopped::of(not_pdf(), bytes));
        }
    }
    if !sniff.is_pdf() {
        return Err(Stopped::of(not_pdf(), upload.bytes()));
    }
    let bytes = upload.bytes();
    upload.seal().await.map_err(|error| lost(error, bytes))
}

fn not_pdf() -> Failure {
    Failure::new(Code::NotPdf, "the bytes are no PDF")
}

/// The text of a small field.
async fn small(form: &mut Multipart, name: &str) -> Result<String, Refusal> {
    let mut text = Vec::new();
    while let Some(chunk) = form.chunk().await.map_err(malformed)? {
        text.extend_from_slice(&chunk);
        if text.len() > MAPPING_BYTES {
            return Err(Refusal::field(name, "at most 255 bytes"));
        }
    }
    let text = String::from_utf8(text).map_err(|_| Refusal::field(name, "is no UTF-8"))?;
    let text = text.trim();
    match text.chars().any(char::is_control) {
        true => Err(Refusal::field(name, "no control characters")),
        false => Ok(text.to_owned()),
    }
}

fn twice(name: &str) -> Refused {
    let text = format!("There is more than one field {name}.");
    Refusal::new(Code::ValidationInvalidField, text).into()
}

pub(super) fn malformed(error: MultipartError) -> Refusal {
    match error {
        MultipartError::TooLarge => Refusal::new(Code::ValidationTooLarge, "The form is too large."),
        MultipartError::TooManyParts => {
            Refusal::new(Code::ValidationTooMany, "The form has too many fields.")
        }
        MultipartError::TooSlow => Refusal::new(Code::RequestTimeout, "The upload came too slowly."),
        MultipartError::BreaksOff => Refusal::new(Code::ValidationMalformed, "The form breaks off."),
        MultipartError::Malformed => {
            Refusal::new(Code::ValidationMalformed, "The body is no well-formed multipart/form-data.")
        }
    }
}
