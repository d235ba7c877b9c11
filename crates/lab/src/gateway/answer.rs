//! The answers: the right one, and every way to be wrong.

use std::time::Duration;

/// What becomes of one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// 200 and [`right_answer`].
    Right,
    /// 200 and these bytes, whatever they are.
    Bytes(Vec<u8>),
    /// Another status, with headers and a body.
    Status(u16, Vec<(String, String)>, String),
    /// Nothing, until it is let go; then the right answer.
    Silence,
    /// 200, the first half of the right answer and so many blanks, then nothing until it is let go.
    Stall(usize),
    /// 200 and the first half of the right answer, whose length was promised whole; then the connection ends.
    Cut,
    /// The same without a promised length: the last chunk never comes.
    CutChunks,
    /// A reset before anything was answered.
    Reset,
    /// A reset after the head of a 200.
    ResetAfterHead,
    /// The right answer, a byte at a time, with this much time in between.
    Drip(Duration),
    /// 200 and so many bytes of one document that is well-formed so far, as fast as they are taken.
    Flood(u64),
    /// The right answer after this much time.
    Slow(Duration),
}

impl Answer {
    /// A status alone.
    #[must_use]
    pub fn status(status: u16) -> Self {
        Self::Status(status, Vec::new(), String::new())
    }

    /// A status that says when to come again.
    #[must_use]
    pub fn retry_after(status: u16, when: &str) -> Self {
        Self::Status(status, vec![("retry-after".to_owned(), when.to_owned())], String::new())
    }

    /// A refusal by an inner code, as the contract has it.
    #[must_use]
    pub fn problem(status: u16, code: &str) -> Self {
        let kind = vec![("content-type".to_owned(), "application/problem+json".to_owned())];
        Self::Status(status, kind, format!(r#"{{"code":"{code}","detail":"/srv/gateway/secret.rs:7"}}"#))
    }

    /// 200 and this text.
    #[must_use]
    pub fn text(body: &str) -> Self {
        Self::Bytes(body.as_bytes().to_vec())
    }
}

/// The XML for a file with this hash: nothing else has the same.
#[must_use]
pub fn right_answer(sha256: &str, mapping: &str) -> String {
    let mapping = mapping.replace(['<', '&', '"'], "_");
    format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<document sha256=\"{sha256}\" mapping=\"{mapping}\"><p>é</p></document>\n"
    )
}
