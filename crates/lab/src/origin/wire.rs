//! How an answer goes over the wire, byte by byte where it is wrong.

use std::io;
use std::ops::ControlFlow;

use sha2::{Digest, Sha256};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tokio_rustls::server::TlsStream;

use super::answer::{Answer, body_of};
use super::request::Request;
use super::{Heard, State, lock};
use crate::http::{self, chunk};

/// A connection that can be reset.
pub(super) trait Stream: AsyncRead + AsyncWrite + Unpin {
    fn tcp(&self) -> &TcpStream;
}

impl Stream for TcpStream {
    fn tcp(&self) -> &TcpStream {
        self
    }
}

impl Stream for TlsStream<TcpStream> {
    fn tcp(&self) -> &TcpStream {
        self.get_ref().0
    }
}

/// Whether the connection may be used again.
type Next = ControlFlow<()>;

/// Answers requests until the client goes, or the connection is hurt.
pub(super) async fn serve(stream: impl Stream, state: &State) -> io::Result<()> {
    stream.tcp().set_nodelay(true)?;
    let mut wire = BufReader::new(stream);
    while let Some(request) = Request::read(&mut wire).await? {
        lock(&state.heard).push(Heard { request: request.clone(), at: Instant::now() });
        let answer = state.next(&request.path);
        let answering = state.answering();
        let next = say(&mut wire, &request, answer).await?;
        wire.flush().await?;
        drop(answering);
        if next.is_break() {
            wire.shutdown().await?;
            // What the client still says is read away: else a reset could overtake the last bytes.
            let _ = wire.read_to_end(&mut Vec::new()).await;
            break;
        }
    }
    Ok(())
}

async fn say(wire: &mut BufReader<impl Stream>, request: &Request, answer: Answer) -> io::Result<Next> {
    let end = Ok(Next::Break(()));
    match answer {
        Answer::Right => ranged(wire, request, &body_of(&request.path), &[]).await?,
        Answer::Slow(wait) => {
            tokio::time::sleep(wait).await;
            ranged(wire, request, &body_of(&request.path), &[]).await?;
        }
        Answer::Bytes(bytes) => ranged(wire, request, &bytes, &[]).await?,
        Answer::With(bytes, headers) => ranged(wire, request, &bytes, &headers).await?,
        Answer::Status(status, headers, body) => {
            head(wire, status, &headers, Some(body.len())).await?;
            wire.write_all(body.as_bytes()).await?;
        }
        Answer::Silence => return gone(wire).await,
        Answer::Reset => {
            wire.get_ref().tcp().set_zero_linger()?;
            return Err(io::Error::other("reset"));
        }
        Answer::Close => return end,
        Answer::Cut(bytes, at) => {
            let (from, rest) = asked(request, &bytes);
            part_head(wire, request, &bytes, from).await?;
            wire.write_all(rest.get(..at).unwrap_or(rest)).await?;
            return end;
        }
        Answer::CutAs(etag, bytes, at) => {
            let tag = (!etag.is_empty()).then(|| ("etag".to_owned(), etag));
            head(wire, 200, tag.as_slice(), Some(bytes.len())).await?;
            wire.write_all(bytes.get(..at).unwrap_or(&bytes)).await?;
            return end;
        }
        Answer::CutChunks(bytes, at) => {
            head(wire, 200, &[tag(&bytes)], None).await?;
            chunk(wire, bytes.get(..at).unwrap_or(&bytes)).await?;
            return end;
        }
        Answer::Stall(bytes, at) => {
            let (from, rest) = asked(request, &bytes);
            part_head(wire, request, &bytes, from).await?;
            wire.write_all(rest.get(..at).unwrap_or(rest)).await?;
            wire.flush().await?;
            return gone(wire).await;
        }
        Answer::Longer(bytes, more) => {
            head(wire, 200, &[tag(&bytes)], Some(bytes.len() + more)).await?;
            wire.write_all(&bytes).await?;
            return end;
        }
        Answer::Shorter(bytes, fewer) => {
            head(wire, 200, &[tag(&bytes)], Some(bytes.len().saturating_sub(fewer))).await?;
            wire.write_all(&bytes).await?;
            return end;
        }
        Answer::Drip(bytes, at_a_time, pause) => {
            head(wire, 200, &[tag(&bytes)], Some(bytes.len())).await?;
            for piece in bytes.chunks(at_a_time.max(1)) {
                wire.write_all(piece).await?;
                wire.flush().await?;
                tokio::time::sleep(pause).await;
            }
        }
        Answer::WrongRange(bytes) => {
            let (from, _) = asked(request, &bytes);
            let wrong = from.saturating_sub(1);
            let range =
                ("content-range".to_owned(), format!("bytes {wrong}-{}/{}", bytes.len() - 1, bytes.len()));
            head(wire, 206, &[tag(&bytes), range], Some(bytes.len() - wrong)).await?;
            wire.write_all(bytes.get(wrong..).unwrap_or_default()).await?;
        }
        Answer::NoRange(bytes) => {
            head(wire, 200, &[tag(&bytes)], Some(bytes.len())).await?;
            wire.write_all(&bytes).await?;
        }
        Answer::AnyRange(bytes) => {
            let (from, rest) = asked(request, &bytes);
            part_head(wire, request, &bytes, from).await?;
            wire.write_all(rest).await?;
        }
        Answer::PartOfUnknown(bytes, most) => {
            let (from, rest) = asked(request, &bytes);
            let part = rest.get(..most).unwrap_or(rest);
            let range = format!("bytes {from}-{}/*", (from + part.len()).saturating_sub(1));
            head(wire, 206, &[tag(&bytes), ("content-range".to_owned(), range)], Some(part.len())).await?;
            wire.write_all(part).await?;
        }
        Answer::Endless => {
            head(wire, 200, &[], None).await?;
            let piece = vec![b'x'; 64 << 10];
            loop {
                chunk(wire, &piece).await?;
            }
        }
        Answer::GiantHead(bytes) => {
            let giant = ("x-giant".to_owned(), "y".repeat(bytes));
            head(wire, 200, &[giant], Some(0)).await?;
        }
        Answer::Garbage => {
            wire.write_all(b"220 mail.example ESMTP ready\r\n").await?;
            return end;
        }
    }
    Ok(Next::Continue(()))
}

/// The right answer to a question for all bytes, or for those from somewhere on.
async fn ranged(
    wire: &mut BufReader<impl Stream>,
    request: &Request,
    bytes: &[u8],
    headers: &[(String, String)],
) -> io::Result<()> {
    let tag = headers.iter().find(|(name, _)| name == "etag").cloned().unwrap_or_else(|| tag(bytes));
    let same = request.header("if-range").is_none_or(|wanted| wanted == tag.1);
    let mut headers: Vec<(String, String)> =
        headers.iter().filter(|(name, _)| name != "etag").cloned().chain([tag]).collect();
    match request.from().filter(|_| same) {
        None => {
            head(wire, 200, &headers, Some(bytes.len())).await?;
            wire.write_all(bytes).await
        }
        Some(from) if from >= bytes.len() => {
            headers.push(("content-range".to_owned(), format!("bytes */{}", bytes.len())));
            head(wire, 416, &headers, Some(0)).await
        }
        Some(from) => {
            headers.push((
                "content-range".to_owned(),
                format!("bytes {from}-{}/{}", bytes.len() - 1, bytes.len()),
            ));
            head(wire, 206, &headers, Some(bytes.len() - from)).await?;
            wire.write_all(bytes.get(from..).unwrap_or_default()).await
        }
    }
}

/// Where the question begins, and what follows there.
fn asked<'a>(request: &Request, bytes: &'a [u8]) -> (usize, &'a [u8]) {
    let from = request.from().unwrap_or(0).min(bytes.len());
    (from, bytes.get(from..).unwrap_or_default())
}

/// The head of all bytes, or of those from somewhere on.
async fn part_head(
    wire: &mut BufReader<impl Stream>,
    request: &Request,
    bytes: &[u8],
    from: usize,
) -> io::Result<()> {
    if request.from().is_none() {
        return head(wire, 200, &[tag(bytes)], Some(bytes.len())).await;
    }
    let range = format!("bytes {from}-{}/{}", bytes.len().saturating_sub(1), bytes.len());
    head(wire, 206, &[tag(bytes), ("content-range".to_owned(), range)], Some(bytes.len() - from)).await
}

/// A head; without a length the body comes in chunks.
async fn head(
    wire: &mut BufReader<impl Stream>,
    status: u16,
    headers: &[(String, String)],
    length: Option<usize>,
) -> io::Result<()> {
    http::head(wire, "text/plain", status, headers, length).await
}

/// Waits until the client has gone. It has nothing to say before it is answered.
async fn gone(wire: &mut BufReader<impl Stream>) -> io::Result<Next> {
    let _ = wire.read_u8().await;
    Ok(Next::Break(()))
}

/// A strong ETag that other bytes do not have.
fn tag(bytes: &[u8]) -> (String, String) {
    let hash: String = Sha256::digest(bytes).iter().take(8).map(|byte| format!("{byte:02x}")).collect();
    ("etag".to_owned(), format!("\"{hash}\""))
}
