//! A way through a proxy: `CONNECT` to an address that was judged.

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::Proxy;

/// A proxy's answer is at most this long.
const ANSWER: usize = 8 << 10;

/// Why there is no way through.
#[derive(Debug, thiserror::Error)]
pub(crate) enum TunnelError {
    /// The proxy did not do its part: it is gone, talks nonsense, or does not know us.
    #[error("{0}")]
    Proxy(String),
    /// The proxy does not let us reach this host.
    #[error("the proxy answered {0}")]
    Forbidden(u16),
    /// The proxy did its part, and the other side could not be reached from there.
    #[error("the proxy answered {0}")]
    Unreached(u16),
}

/// Asks the proxy at the other end of this connection for a way to an address.
pub(crate) async fn open(stream: &mut TcpStream, proxy: &Proxy, to: SocketAddr) -> Result<(), TunnelError> {
    let mut request = format!("CONNECT {to} HTTP/1.1\r\nHost: {to}\r\n");
    if let Some(authorization) = &proxy.authorization {
        request.push_str(&format!("Proxy-Authorization: {authorization}\r\n"));
    }
    request.push_str("\r\n");
    let broke = |error: io::Error| TunnelError::Proxy(error.kind().to_string());
    stream.write_all(request.as_bytes()).await.map_err(broke)?;
    let mut answer = Vec::with_capacity(256);
    while !answer.ends_with(b"\r\n\r\n") {
        // The other side says nothing before we do: what follows the head would not be its word.
        let byte = stream.read_u8().await.map_err(broke)?;
        answer.push(byte);
        if answer.len() > ANSWER {
            return Err(TunnelError::Proxy("its answer is too long".to_owned()));
        }
    }
    match status(&answer) {
        Some(200..=299) => Ok(()),
        Some(status @ 403..=405) => Err(TunnelError::Forbidden(status)),
        Some(status @ 502..=504) => Err(TunnelError::Unreached(status)),
        Some(status) => Err(TunnelError::Proxy(format!("it answered {status}"))),
        None => Err(TunnelError::Proxy("its answer is no HTTP".to_owned())),
    }
}

fn status(answer: &[u8]) -> Option<u16> {
    let line = std::str::from_utf8(answer.split(|b| *b == b'\r').next()?).ok()?;
    let mut words = line.split(' ');
    words.next().filter(|version| version.starts_with("HTTP/1."))?;
    words.next()?.parse().ok().filter(|status| (100..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_line_has_a_status() {
        assert_eq!(status(b"HTTP/1.1 200 Connection established\r\n\r\n"), Some(200));
        assert_eq!(status(b"HTTP/1.0 407\r\n\r\n"), Some(407));
        for wrong in [
            &b"220 mail.example\r\n\r\n"[..],
            b"HTTP/2 200\r\n\r\n",
            b"HTTP/1.1 2000\r\n\r\n",
            b"HTTP/1.1 \r\n\r\n",
            b"\xff\r\n\r\n",
        ] {
            assert_eq!(status(wrong), None, "{wrong:?}");
        }
    }
}
