//! How an answer goes over the wire, byte by byte where it is wrong.

use std::io;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::Instant;

use super::answer::{Answer, right_answer};
use super::log::Call;
use super::request::Request;
use super::{State, lock};
use crate::http::{self, chunk};

type Wire = BufReader<TcpStream>;

/// Whether the connection may be used again.
enum Next {
    Again,
    End,
}

/// Answers requests until the client goes, or the connection is hurt.
pub(super) async fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut wire = BufReader::new(stream);
    while let Some(request) = Request::read(&mut wire).await? {
        let next = match (request.method.as_str(), request.path.rsplit('/').next()) {
            ("POST", Some("process")) => process(&mut wire, state, &request).await?,
            ("GET", Some("health")) => {
                whole(&mut wire, 200, "application/json", b"{\"status\":\"ok\"}").await?
            }
            ("GET", Some("mappings")) => mappings(&mut wire, state).await?,
            _ => whole(&mut wire, 404, "text/plain", b"").await?,
        };
        if matches!(next, Next::End) {
            return wire.into_inner().shutdown().await;
        }
    }
    Ok(())
}

async fn mappings(wire: &mut Wire, state: &State) -> io::Result<Next> {
    let list = lock(&state.mappings).clone();
    match list {
        Some(json) => whole(wire, 200, "application/json", json.as_bytes()).await,
        None => whole(wire, 503, "text/plain", b"").await,
    }
}

async fn process(wire: &mut Wire, state: &State, request: &Request) -> io::Result<Next> {
    let form = request.form();
    let answer = lock(&state.script).next(&form.sha256, &form.mapping);
    let right = right_answer(&form.sha256, &form.mapping);
    let _open = state.log.begin(Call {
        sha256: form.sha256,
        mapping: form.mapping,
        key: request.header("idempotency-key"),
        accept: request.header("accept"),
        filename: form.filename,
        began: Instant::now(),
        ended: None,
    });
    let xml = right.as_bytes();
    // Between two attributes: there may be blanks.
    let half = right.find(" mapping=").unwrap_or_default();
    let (first, second) = xml.split_at(half);
    match answer {
        Answer::Right => good(wire, xml).await,
        Answer::Bytes(bytes) => good(wire, &bytes).await,
        Answer::Status(status, headers, body) => {
            head(wire, status, &headers, Some(body.len())).await?;
            send(wire, body.as_bytes()).await
        }
        Answer::Silence => match let_go(wire, state).await {
            Next::Again => good(wire, xml).await,
            Next::End => Ok(Next::End),
        },
        Answer::Stall(blanks) => {
            head(wire, 200, &[], Some(xml.len() + blanks)).await?;
            send(wire, first).await?;
            send(wire, &b" ".repeat(blanks)).await?;
            match let_go(wire, state).await {
                Next::Again => send(wire, second).await,
                Next::End => Ok(Next::End),
            }
        }
        Answer::Cut => {
            head(wire, 200, &[], Some(xml.len())).await?;
            send(wire, first).await?;
            Ok(Next::End)
        }
        Answer::CutChunks => {
            head(wire, 200, &[], None).await?;
            chunk(wire, first).await?;
            Ok(Next::End)
        }
        Answer::Reset => reset(wire),
        Answer::ResetAfterHead => {
            head(wire, 200, &[], Some(xml.len())).await?;
            // A reset overtakes what was not read yet.
            tokio::time::sleep(Duration::from_millis(50)).await;
            reset(wire)
        }
        Answer::Drip(pause) => {
            head(wire, 200, &[], Some(xml.len())).await?;
            for byte in xml {
                send(wire, &[*byte]).await?;
                tokio::time::sleep(pause).await;
            }
            Ok(Next::Again)
        }
        Answer::Flood(bytes) => flood(wire, bytes).await,
        Answer::Slow(time) => {
            tokio::select! {
                () = tokio::time::sleep(time) => good(wire, xml).await,
                () = gone(wire) => Ok(Next::End),
            }
        }
    }
}

/// Waits until the answer may go, or the client goes.
async fn let_go(wire: &mut Wire, state: &State) -> Next {
    let mut waiting = state.let_go.subscribe();
    waiting.mark_unchanged();
    tokio::select! {
        _ = waiting.changed() => Next::Again,
        () = gone(wire) => Next::End,
    }
}

/// Waits until the client has gone. It has nothing to say before it is answered.
async fn gone(wire: &mut Wire) {
    let _ = wire.read_u8().await;
}

fn reset(wire: &mut Wire) -> io::Result<Next> {
    wire.get_ref().set_zero_linger()?;
    Err(io::Error::other("reset"))
}

async fn good(wire: &mut Wire, body: &[u8]) -> io::Result<Next> {
    let headers =
        [("x-pages".to_owned(), "1".to_owned()), ("x-warnings".to_owned(), "repaired, BAD!".to_owned())];
    head(wire, 200, &headers, Some(body.len())).await?;
    send(wire, body).await
}

async fn whole(wire: &mut Wire, status: u16, kind: &str, body: &[u8]) -> io::Result<Next> {
    head(wire, status, &[("content-type".to_owned(), kind.to_owned())], Some(body.len())).await?;
    send(wire, body).await
}

async fn flood(wire: &mut Wire, bytes: u64) -> io::Result<Next> {
    head(wire, 200, &[], None).await?;
    chunk(wire, b"<document>").await?;
    let piece = b"<p>more</p>".repeat(6_000);
    let mut sent = 0u64;
    while sent < bytes {
        chunk(wire, &piece).await?;
        sent = sent.saturating_add(piece.len() as u64);
    }
    chunk(wire, b"</document>").await?;
    send(wire, b"0\r\n\r\n").await
}

/// A head; without a length the body comes in chunks.
async fn head(
    wire: &mut Wire,
    status: u16,
    headers: &[(String, String)],
    length: Option<usize>,
) -> io::Result<()> {
    http::head(wire, "application/xml", status, headers, length).await
}

async fn send(wire: &mut Wire, bytes: &[u8]) -> io::Result<Next> {
    wire.write_all(bytes).await?;
    wire.flush().await?;
    Ok(Next::Again)
}
