//! What came in. Only as much of HTTP and of forms as clients of ours send.

use std::fmt::Write as _;
use std::io;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, BufReader};

/// The largest request.
const MOST: usize = 256 << 20;

/// One request.
#[derive(Debug)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// The form of a conversion.
#[derive(Debug, Default)]
pub(super) struct Form {
    pub(super) sha256: String,
    pub(super) mapping: String,
    pub(super) filename: Option<String>,
}

impl Request {
    /// Reads the next one; nothing when the client has gone.
    pub(super) async fn read(from: &mut BufReader<impl AsyncRead + Unpin>) -> io::Result<Option<Self>> {
        let Some(first) = line(from).await? else { return Ok(None) };
        let mut words = first.split(' ').map(str::to_owned);
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut headers = Vec::new();
        while let Some(line) = line(from).await?.filter(|line| !line.is_empty()) {
            if let Some((name, value)) = line.split_once(':') {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
        }
        let mut request = Self { method, path, headers, body: Vec::new() };
        let length = request.header("content-length").and_then(|text| text.parse().ok()).unwrap_or(0);
        if length > MOST || request.header("transfer-encoding").is_some() {
            return Err(io::Error::other("a body that nobody of ours sends"));
        }
        request.body = vec![0; length];
        from.read_exact(&mut request.body).await?;
        Ok(Some(request))
    }

    pub(super) fn header(&self, name: &str) -> Option<String> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
    }

    /// The form of a conversion.
    pub(super) fn form(&self) -> Form {
        let kind = self.header("content-type").unwrap_or_default();
        let boundary = kind.split("boundary=").nth(1).unwrap_or("none").trim_matches('"');
        let mut form = Form::default();
        let mut rest = self.body.as_slice();
        let mark = format!("--{boundary}");
        while let Some(start) = find(rest, mark.as_bytes()) {
            rest = rest.get(start + mark.len()..).unwrap_or_default();
            let end = find(rest, mark.as_bytes()).unwrap_or(rest.len());
            form.part(rest.get(..end).unwrap_or_default());
        }
        form
    }
}

impl Form {
    fn part(&mut self, part: &[u8]) {
        let Some(blank) = find(part, b"\r\n\r\n") else { return };
        let head = String::from_utf8_lossy(part.get(..blank).unwrap_or_default());
        let content = part.get(blank + 4..part.len().saturating_sub(2)).unwrap_or_default();
        let quoted = |name: &str| {
            let after = head.split(&format!("; {name}=\"")).nth(1)?;
            after.split('"').next().map(str::to_owned)
        };
        match quoted("name").as_deref() {
            Some("mapping") => self.mapping = String::from_utf8_lossy(content).into_owned(),
            Some("file") => {
                self.filename = quoted("filename");
                self.sha256 = sha256(content);
            }
            _ => {}
        }
    }
}

/// The hash of some bytes, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(bytes) {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

async fn line(from: &mut BufReader<impl AsyncRead + Unpin>) -> io::Result<Option<String>> {
    let mut line = String::new();
    if from.read_line(&mut line).await? == 0 {
        return Ok(None);
    }
    Ok(Some(line.trim_end().to_owned()))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len().max(1)).position(|part| part == what)
}
