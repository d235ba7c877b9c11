//! HTTP/1.1 answers written by hand, so that whoever misbehaves can do so at any byte.

use std::io;

use tokio::io::{AsyncWrite, AsyncWriteExt};

/// A head; without a length the body comes in chunks. `kind` is the content type, unless a header says another.
pub(crate) async fn head(
    wire: &mut (impl AsyncWrite + Unpin),
    kind: &str,
    status: u16,
    headers: &[(String, String)],
    length: Option<usize>,
) -> io::Result<()> {
    let mut text = format!("HTTP/1.1 {status} Said\r\n");
    match length {
        Some(length) => text.push_str(&format!("content-length: {length}\r\n")),
        None => text.push_str("transfer-encoding: chunked\r\n"),
    }
    if headers.iter().all(|(name, _)| name != "content-type") {
        text.push_str(&format!("content-type: {kind}\r\n"));
    }
    for (name, value) in headers {
        text.push_str(&format!("{name}: {value}\r\n"));
    }
    text.push_str("\r\n");
    wire.write_all(text.as_bytes()).await
}

/// One chunk.
pub(crate) async fn chunk(wire: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    wire.write_all(format!("{:x}\r\n", bytes.len()).as_bytes()).await?;
    wire.write_all(bytes).await?;
    wire.write_all(b"\r\n").await
}
