//! What a request for `/process` or `/inspect` holds: one file and a few short fields.

use std::fs::File;
use std::path::PathBuf;

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_ENCODING, CONTENT_LENGTH};
use axum::http::{HeaderMap, HeaderValue};
use redrive_door::multipart::{Multipart, MultipartError, boundary};

use super::problem::{Code, Problem};
use super::spool::Spool;
use crate::convert::RefusalCode;

/// What heads and short fields may add to a file.
const OVERHEAD: u64 = 64 * 1024;
/// The longest field that is no file.
const MAX_FIELD: usize = 1024;

/// A request's parts. What is not there was not sent.
pub(super) struct Form {
    pub(super) file: File,
    pub(super) mapping: Option<String>,
    pub(super) pages: Option<String>,
}

/// What the head alone can be refused for, before a byte of the body is read. Answers the boundary.
pub(super) fn check_head(headers: &HeaderMap, limit: u64) -> Result<String, Problem> {
    let encoded = |value: &HeaderValue| !value.as_bytes().eq_ignore_ascii_case(b"identity");
    if headers.get_all(CONTENT_ENCODING).iter().any(encoded) {
        return Err(Problem::new(Code::UnsupportedMediaType, "Send the file without Content-Encoding."));
    }
    let Some(found) = boundary(headers) else {
        return Err(Problem::new(Code::UnsupportedMediaType, "Send multipart/form-data with a boundary."));
    };
    let length = headers.get(CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if length.is_some_and(|length| length > limit + OVERHEAD) {
        return Err(too_large(limit));
    }
    Ok(found)
}

/// Reads the body: the file goes to disk as it comes.
pub(super) async fn read(
    request: Request<Body>,
    boundary: &str,
    limit: u64,
    folder: PathBuf,
) -> Result<Form, Problem> {
    let mut parts = Multipart::new(request.into_body(), boundary, limit + OVERHEAD);
    let (mut file, mut mapping, mut pages) = (None, None, None);
    let broken = |error| refused(error, limit);
    while let Some(part) = parts.next_part().await.map_err(broken)? {
        match part.name.as_str() {
            "file" if file.is_none() => {
                let mut spool = Spool::new(folder.clone());
                while let Some(chunk) = parts.chunk().await.map_err(broken)? {
                    if spool.len() + chunk.len() as u64 > limit {
                        return Err(too_large(limit));
                    }
                    spool.push(&chunk).await.map_err(|error| disk(&error))?;
                }
                file = Some(spool);
            }
            "mapping" if mapping.is_none() => mapping = Some(field(&mut parts, limit).await?),
            "pages" if pages.is_none() => pages = Some(field(&mut parts, limit).await?),
            "file" | "mapping" | "pages" => {
                return Err(Problem::new(Code::InvalidRequest, "A field is in the request twice."));
            }
            // Somebody else's field.
            _ => {}
        }
    }
    let Some(file) = file else {
        let detail = "There is no file in the request: send it as the field named file.";
        return Err(Problem::new(Code::File(RefusalCode::InvalidPdf), detail));
    };
    let file = file.finish().await.map_err(|error| disk(&error))?;
    Ok(Form { file, mapping, pages })
}

async fn field(parts: &mut Multipart, limit: u64) -> Result<String, Problem> {
    let mut bytes = Vec::new();
    while let Some(chunk) = parts.chunk().await.map_err(|error| refused(error, limit))? {
        bytes.extend_from_slice(&chunk);
        if bytes.len() > MAX_FIELD {
            return Err(Problem::new(Code::InvalidRequest, "A field is longer than allowed."));
        }
    }
    String::from_utf8(bytes).map_err(|_| Problem::new(Code::InvalidRequest, "A field is not UTF-8."))
}

fn refused(error: MultipartError, limit: u64) -> Problem {
    match error {
        MultipartError::TooLarge => too_large(limit),
        MultipartError::TooSlow => Problem::new(Code::RequestTimeout, "The body came too slowly."),
        MultipartError::BreaksOff => Problem::new(Code::InvalidRequest, "The body breaks off."),
        MultipartError::Malformed => {
            Problem::new(Code::InvalidRequest, "The body is not well-formed multipart.")
        }
        MultipartError::TooManyParts => Problem::new(Code::InvalidRequest, "The body has too many parts."),
    }
}

fn too_large(limit: u64) -> Problem {
    Problem::new(Code::TooLarge, &format!("A file may have {limit} bytes."))
}

/// The log says what happened; the answer only that there is no room.
fn disk(error: &std::io::Error) -> Problem {
    tracing::error!(event = "gateway.not_stored", %error, "an upload cannot be stored");
    Problem::new(Code::Busy, "There is no room for the file at the moment.")
}

/// A range of pages: `3-7`, or `3` for a single one.
pub(super) fn pages(text: &str) -> Result<(u32, u32), Problem> {
    let number = |text: &str| {
        let text = text.trim();
        (text.bytes().all(|b| b.is_ascii_digit())).then(|| text.parse::<u32>().ok()).flatten()
    };
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if 1 <= first && first <= last => Ok((first, last)),
        _ => Err(Problem::new(Code::InvalidRequest, "Say pages as first-last, from 1.")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_a_range_from_one() {
        for (text, expected) in
            [("1-3", (1, 3)), ("7", (7, 7)), (" 2 - 2 ", (2, 2)), ("1-4294967295", (1, u32::MAX))]
        {
            assert_eq!(pages(text).ok(), Some(expected), "{text}");
        }
        for bad in ["", "0-1", "3-2", "a-b", "1-", "-3", "1-2-3", "+1-2", "1-4294967296", "1,2"] {
            assert!(pages(bad).is_err(), "{bad:?}");
        }
    }
}
