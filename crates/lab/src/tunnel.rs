//! A proxy that speaks `CONNECT` and does what it is told: lets through, refuses, hangs, or goes away.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::origin::Request;

/// What becomes of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Does {
    /// A way through.
    Through,
    /// A way to this place, whatever was asked for.
    Lead(SocketAddr),
    /// A way to this place alone; any other cannot be reached.
    Only(SocketAddr),
    /// A refusal with this status.
    Refuse(u16),
    /// Nothing at all.
    Silence,
    /// The end of the connection.
    Close,
    /// A way through that leads nowhere: yes is said, and then nothing more.
    Swallow,
    /// A way through that ends at once: yes is said, and then the end of the connection.
    Hang,
}

#[derive(Debug)]
struct State {
    does: Mutex<Does>,
    asked: Mutex<Vec<Request>>,
}

/// The proxy. Dropping it ends it.
#[derive(Debug)]
pub struct Tunnel {
    address: SocketAddr,
    state: Arc<State>,
    listening: JoinHandle<()>,
}

impl Tunnel {
    /// One on a free loopback port that lets everybody through.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let state = Arc::new(State { does: Mutex::new(Does::Through), asked: Mutex::default() });
        let listening = tokio::spawn(accept(listener, state.clone()));
        Ok(Self { address, state, listening })
    }

    /// As it is written into a pool.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://me:CANARY@{}", self.address)
    }

    /// What it does from now on.
    pub fn does(&self, does: Does) {
        *lock(&self.state.does) = does;
    }

    /// Everything that it was asked.
    #[must_use]
    pub fn asked(&self) -> Vec<Request> {
        lock(&self.state.asked).clone()
    }
}

impl Drop for Tunnel {
    fn drop(&mut self) {
        self.listening.abort();
    }
}

async fn accept(listener: TcpListener, state: Arc<State>) {
    let mut open = JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let state = state.clone();
        open.spawn(async move {
            let _ = serve(stream, &state).await;
        });
        while open.try_join_next().is_some() {}
    }
}

async fn serve(stream: TcpStream, state: &State) -> io::Result<()> {
    let mut wire = BufReader::new(stream);
    let Some(request) = Request::read(&mut wire).await? else { return Ok(()) };
    lock(&state.asked).push(request.clone());
    let does = *lock(&state.does);
    match does {
        Does::Through => join(wire, TcpStream::connect(&request.path).await?).await,
        Does::Lead(to) => join(wire, TcpStream::connect(to).await?).await,
        Does::Only(to) if request.path == to.to_string() => join(wire, TcpStream::connect(to).await?).await,
        Does::Only(_) => no(&mut wire, 502).await,
        Does::Refuse(status) => no(&mut wire, status).await,
        Does::Swallow => {
            yes(&mut wire).await?;
            tokio::io::copy(&mut wire, &mut tokio::io::sink()).await.map(drop)
        }
        Does::Hang => yes(&mut wire).await,
        Does::Silence => wire.read_u8().await.map(drop),
        Does::Close => Ok(()),
    }
}

async fn join(mut wire: BufReader<TcpStream>, mut other: TcpStream) -> io::Result<()> {
    yes(&mut wire).await?;
    tokio::io::copy_bidirectional(&mut wire, &mut other).await.map(drop)
}

async fn no(wire: &mut BufReader<TcpStream>, status: u16) -> io::Result<()> {
    let answer = format!("HTTP/1.1 {status} Refused\r\ncontent-length: 0\r\n\r\n");
    wire.write_all(answer.as_bytes()).await?;
    wire.flush().await
}

async fn yes(wire: &mut BufReader<TcpStream>) -> io::Result<()> {
    wire.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?;
    wire.flush().await
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
