//! An origin that answers every request with the same small body, and costs as little as it can.

use std::net::SocketAddr;

use anyhow::Result;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: 26\r\n\r\nabcdefghijklmnopqrstuvwxyz";

/// It ends with this.
#[derive(Debug)]
pub struct Origin {
    /// Where it listens.
    pub address: SocketAddr,
    task: JoinHandle<()>,
}

impl Origin {
    /// Listens on a free port of this machine.
    pub async fn start() -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream));
            }
        });
        Ok(Self { address, task })
    }
}

impl Drop for Origin {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// One answer for each head that ends.
async fn serve(mut stream: TcpStream) {
    let (mut said, mut filled) = ([0u8; 16 * 1024], 0);
    while let Some(room) = said.get_mut(filled..) {
        match stream.read(room).await {
            Ok(n @ 1..) => filled += n,
            Ok(0) | Err(_) => return,
        }
        if said.get(..filled).is_some_and(|head| head.ends_with(b"\r\n\r\n")) {
            filled = 0;
            if stream.write_all(ANSWER).await.is_err() {
                return;
            }
        }
    }
}
