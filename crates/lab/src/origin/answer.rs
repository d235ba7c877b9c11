//! The answers: the right one, and every way to be wrong.

use std::time::Duration;

/// What becomes of one request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// [`body_of`] the path with a strong ETag; ranges as HTTP has them.
    Right,
    /// The same with other bytes and the ETag of these bytes.
    Bytes(Vec<u8>),
    /// The same with further headers.
    With(Vec<u8>, Vec<(String, String)>),
    /// The right one, after this much time.
    Slow(Duration),
    /// Another status, with headers and a body.
    Status(u16, Vec<(String, String)>, String),
    /// Nothing at all.
    Silence,
    /// A reset before anything was answered.
    Reset,
    /// The connection ends before anything was answered.
    Close,
    /// So many bytes of those bytes whose length was promised whole; then the connection ends.
    Cut(Vec<u8>, usize),
    /// The same with this ETag, or with none where it is empty.
    CutAs(String, Vec<u8>, usize),
    /// The same without a promised length: the last chunk never comes.
    CutChunks(Vec<u8>, usize),
    /// So many bytes of those bytes, then nothing more.
    Stall(Vec<u8>, usize),
    /// All of these bytes, and a promise of so many more.
    Longer(Vec<u8>, usize),
    /// All of these bytes, and a promise of so many fewer.
    Shorter(Vec<u8>, usize),
    /// These bytes, so many at a time, with this much time in between.
    Drip(Vec<u8>, usize, Duration),
    /// 206 from another place than the one that was asked for.
    WrongRange(Vec<u8>),
    /// 200 with all of these bytes, whatever range was asked for.
    NoRange(Vec<u8>),
    /// 206 with the range of these bytes, whatever `If-Range` said.
    AnyRange(Vec<u8>),
    /// 206 with so many bytes of the range of these bytes, and no word on how many there are in all.
    PartOfUnknown(Vec<u8>, usize),
    /// Chunks without end, as fast as they are taken.
    Endless,
    /// A head of so many bytes.
    GiantHead(usize),
    /// Something that is no HTTP.
    Garbage,
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

    /// A redirect.
    #[must_use]
    pub fn redirect(status: u16, to: &str) -> Self {
        Self::Status(status, vec![("location".to_owned(), to.to_owned())], "moved".to_owned())
    }

    /// These bytes with one more header.
    #[must_use]
    pub fn with(bytes: impl Into<Vec<u8>>, name: &str, value: &str) -> Self {
        Self::With(bytes.into(), vec![(name.to_owned(), value.to_owned())])
    }
}

/// The bytes of a path: nothing else has the same.
#[must_use]
pub fn body_of(path: &str) -> Vec<u8> {
    format!("what is at {path}\n").into_bytes().repeat(20)
}
