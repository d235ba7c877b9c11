//! What was asked.

use std::io;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

/// One request. Downloads have no bodies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// `GET`.
    pub method: String,
    /// Path and query.
    pub path: String,
    /// Names in lower case, in the order they came.
    pub headers: Vec<(String, String)>,
}

impl Request {
    /// The first header of this name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The first byte that was asked for, where it was not all of them.
    #[must_use]
    pub fn from(&self) -> Option<usize> {
        self.header("range")?.strip_prefix("bytes=")?.strip_suffix('-')?.parse().ok()
    }

    pub(crate) async fn read(wire: &mut BufReader<impl AsyncRead + Unpin>) -> io::Result<Option<Self>> {
        let Some(first) = line(wire).await? else { return Ok(None) };
        let mut words = first.split(' ');
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut request = Self { method: method.to_owned(), path: path.to_owned(), headers: Vec::new() };
        while let Some(field) = line(wire).await?.filter(|field| !field.is_empty()) {
            if let Some((name, value)) = field.split_once(':') {
                request.headers.push((name.trim().to_lowercase(), value.trim().to_owned()));
            }
        }
        Ok(Some(request))
    }
}

async fn line(wire: &mut BufReader<impl AsyncRead + Unpin>) -> io::Result<Option<String>> {
    let mut line = String::new();
    if wire.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end().to_owned()))
}
