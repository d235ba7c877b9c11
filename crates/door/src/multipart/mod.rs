//! `multipart/form-data`, read as it comes: memory is that of one chunk, whatever the client sends.
//!
//! Own code, because the usual crate buffers a part's head without a limit and takes in whatever is ready.

use axum::body::Body;
use axum::http::HeaderMap;
use axum::http::header::CONTENT_TYPE;
use bytes::{Buf, Bytes, BytesMut};
use http_body_util::BodyExt;
use memchr::memmem;

use crate::TooSlow;

/// The head of a part.
const MAX_HEAD: usize = 8 * 1024;
/// What may stand before the first part.
const MAX_PREAMBLE: usize = 8 * 1024;
/// How many parts, unless the caller says otherwise.
const MAX_PARTS: usize = 16;

/// Why the body is not what it should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MultipartError {
    /// More bytes came than were allowed in all.
    #[error("the body is larger than allowed")]
    TooLarge,
    /// See [`TooSlow`].
    #[error("the body comes too slowly")]
    TooSlow,
    /// The client went away, or never meant to send the rest.
    #[error("the body breaks off")]
    BreaksOff,
    /// It is something else.
    #[error("the body is not well-formed multipart")]
    Malformed,
    /// More parts than anybody needs.
    #[error("the body has too many parts")]
    TooManyParts,
}

/// What a part's head says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// The field's name.
    pub name: String,
    /// What the client calls the file, where it is one. Data from outside: never a path.
    pub filename: Option<String>,
}

/// The boundary that the request names, if it is multipart/form-data at all.
pub fn boundary(headers: &HeaderMap) -> Option<String> {
    let text = headers.get(CONTENT_TYPE)?.to_str().ok()?;
    let (kind, parameters) = text.split_once(';')?;
    if !kind.trim().eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parameter(parameters, "boundary")?;
    ((1..=70).contains(&boundary.len()) && boundary.bytes().all(|b| (b' '..=b'~').contains(&b)))
        .then_some(boundary)
}

/// The parts of a body, one after the other.
#[derive(Debug)]
pub struct Multipart {
    body: Body,
    /// How many more bytes the body may have.
    left: u64,
    buffer: BytesMut,
    /// Two dashes and the boundary, on a line of their own.
    delimiter: Vec<u8>,
    ended: bool,
    inside: bool,
    parts: usize,
    most_parts: usize,
}

impl Multipart {
    /// Reads at most `limit` bytes of the body.
    #[must_use]
    pub fn new(body: Body, boundary: &str, limit: u64) -> Self {
        let delimiter = [b"\r\n--", boundary.as_bytes()].concat();
        // The first delimiter needs no line before it; with this it is like the others.
        Self {
            body,
            left: limit,
            buffer: BytesMut::from("\r\n"),
            delimiter,
            ended: false,
            inside: true,
            parts: 0,
            most_parts: MAX_PARTS,
        }
    }

    /// Takes at most so many parts.
    #[must_use]
    pub const fn most_parts(mut self, parts: usize) -> Self {
        self.most_parts = parts;
        self
    }

    /// The head of the next part; nothing after the last. What is left of the part before is passed over.
    pub async fn next_part(&mut self) -> Result<Option<Part>, MultipartError> {
        let mut passed = 0;
        while let Some(chunk) = self.chunk().await? {
            passed += chunk.len();
            if self.parts == 0 && passed > MAX_PREAMBLE {
                return Err(MultipartError::Malformed);
            }
        }
        if self.ended {
            return Ok(None);
        }
        // After a delimiter: two dashes at the end of all, else blanks and a line's end.
        while self.buffer.len() < 2 {
            self.fill().await?;
        }
        if self.buffer.starts_with(b"--") {
            self.ended = true;
            return Ok(None);
        }
        self.parts += 1;
        if self.parts > self.most_parts {
            return Err(MultipartError::TooManyParts);
        }
        let head = self.head().await?;
        self.inside = true;
        part(&head).map(Some).ok_or(MultipartError::Malformed)
    }

    /// The next piece of the part; nothing at its end.
    pub async fn chunk(&mut self) -> Result<Option<Bytes>, MultipartError> {
        loop {
            if !self.inside {
                return Ok(None);
            }
            if let Some(at) = memmem::find(&self.buffer, &self.delimiter) {
                let data = self.buffer.split_to(at).freeze();
                self.buffer.advance(self.delimiter.len());
                self.inside = false;
                return Ok((!data.is_empty()).then_some(data));
            }
            // The end of what we have may be the beginning of a delimiter.
            let safe = self.buffer.len().saturating_sub(self.delimiter.len() - 1);
            if safe > 0 {
                return Ok(Some(self.buffer.split_to(safe).freeze()));
            }
            self.fill().await?;
        }
    }

    /// Everything up to the empty line, which begins with the end of the delimiter's own line.
    async fn head(&mut self) -> Result<Vec<u8>, MultipartError> {
        loop {
            if let Some(at) = memmem::find(&self.buffer, b"\r\n\r\n") {
                let head = self.buffer.split_to(at).to_vec();
                self.buffer.advance(4);
                return Ok(head);
            }
            if self.buffer.len() > MAX_HEAD {
                return Err(MultipartError::Malformed);
            }
            self.fill().await?;
        }
    }

    async fn fill(&mut self) -> Result<(), MultipartError> {
        let frame = match self.body.frame().await {
            None => return Err(MultipartError::BreaksOff),
            Some(Ok(frame)) => frame,
            Some(Err(error)) if TooSlow::is_cause_of(&error) => return Err(MultipartError::TooSlow),
            Some(Err(_)) => return Err(MultipartError::BreaksOff),
        };
        if let Ok(data) = frame.into_data() {
            self.left = self.left.checked_sub(data.len() as u64).ok_or(MultipartError::TooLarge)?;
            self.buffer.extend_from_slice(&data);
        }
        Ok(())
    }
}

/// What a part's head says. Bytes that are no UTF-8 are replaced: a name is for people.
fn part(head: &[u8]) -> Option<Part> {
    let head = String::from_utf8_lossy(head);
    // The rest of the delimiter's line holds blanks at most.
    let (line, head) = head.split_once("\r\n")?;
    if !line.bytes().all(|b| matches!(b, b' ' | b'\t')) {
        return None;
    }
    head.split("\r\n").find_map(|line| {
        let (key, value) = line.split_once(':')?;
        if !key.trim().eq_ignore_ascii_case("content-disposition") {
            return None;
        }
        let (kind, parameters) = value.split_once(';')?;
        if !kind.trim().eq_ignore_ascii_case("form-data") {
            return None;
        }
        Some(Part { name: parameter(parameters, "name")?, filename: parameter(parameters, "filename") })
    })
}

/// One of `key=value; key="value"`.
fn parameter(text: &str, wanted: &str) -> Option<String> {
    let mut rest = text;
    loop {
        let (key, after) = rest.split_once('=')?;
        let (value, next) = match after.trim_start().strip_prefix('"') {
            Some(quoted) => unquote(quoted)?,
            None => {
                let (value, next) = after.split_once(';').unwrap_or((after, ""));
                (value.trim().to_owned(), next)
            }
        };
        if key.trim().eq_ignore_ascii_case(wanted) {
            return Some(value);
        }
        rest = next.trim_start().trim_start_matches(';');
    }
}

/// A quoted value, and what comes after its closing quote.
fn unquote(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..).unwrap_or_default())),
            // Browsers do not escape; a backslash before anything but a quote is itself.
            '\\' if text.get(at + 1..).is_some_and(|next| next.starts_with('"')) => {
                chars.next();
                value.push('"');
            }
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests;
