//! A wire between a client and a server that can be hurt: cut, silenced, or made to lose one answer.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// What happens to the connection whose answer was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// It ends.
    Close,
    /// It stays open, and nothing more comes.
    Hold,
}

/// The wire.
#[derive(Debug)]
pub struct Proxy {
    address: SocketAddr,
    server: String,
    state: Arc<State>,
    listening: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug)]
struct State {
    /// The answer that will be lost: the one that commits what these bytes are part of.
    trap: Mutex<Option<(Vec<u8>, Then)>>,
    lost: watch::Sender<u32>,
    /// Raised by a cut: connections of an older number end.
    cut: watch::Sender<u32>,
    silent: watch::Sender<bool>,
}

impl State {
    fn trap(&self) -> MutexGuard<'_, Option<(Vec<u8>, Then)>> {
        self.trap.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits while the wire is silent.
    async fn heard(&self) {
        let _ = self.silent.subscribe().wait_for(|silent| !silent).await;
    }

    /// Whether this is the answer to be lost, or the first one of its transaction.
    fn is_marked(&self, answer: &[u8]) -> bool {
        let trap = self.trap();
        let found = |needle: &[u8]| answer.windows(needle.len().max(1)).any(|part| part == needle);
        trap.as_ref().is_some_and(|(needle, _)| found(needle))
    }

    /// Loses an answer, unless another one was lost meanwhile.
    fn spring(&self) -> Option<Then> {
        let (_, then) = self.trap().take()?;
        self.lost.send_modify(|n| *n += 1);
        Some(then)
    }
}

/// How a Postgres server says at the end of an answer that no transaction is open any more.
const IDLE: &[u8] = b"Z\0\0\0\x05I";

impl Proxy {
    /// A wire to this server, on a free port.
    pub async fn start(server: &str) -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let state = Arc::new(State {
            trap: Mutex::default(),
            lost: watch::Sender::new(0),
            cut: watch::Sender::new(0),
            silent: watch::Sender::new(false),
        });
        let address = listener.local_addr()?;
        let proxy = Self { address, server: server.to_owned(), state, listening: Mutex::default() };
        proxy.listen(listener);
        Ok(proxy)
    }

    /// Where clients connect.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The first answer with these bytes in it will not arrive; inside a transaction the answer to its COMMIT will not.
    pub fn lose_answer_with(&self, bytes: &[u8], then: Then) {
        *self.state.trap() = Some((bytes.to_vec(), then));
    }

    /// Waits until so many answers were lost in all.
    pub async fn has_lost(&self, count: u32) {
        let _ = self.state.lost.subscribe().wait_for(|lost| *lost >= count).await;
    }

    /// Ends every connection and refuses new ones.
    pub fn cut(&self) {
        if let Some(listening) = self.listening().take() {
            listening.abort();
        }
        self.state.cut.send_modify(|n| *n += 1);
    }

    /// Keeps everything for itself and ends nothing; new connections are accepted and hear nothing. What was said meanwhile
    /// arrives after the healing, as it does when a network comes back.
    pub fn silence(&self) {
        self.state.silent.send_replace(true);
    }

    /// Lets everything pass again.
    pub async fn heal(&self) -> io::Result<()> {
        self.state.silent.send_replace(false);
        if self.listening().is_some() {
            return Ok(());
        }
        let mut tries = 0;
        let listener = loop {
            match TcpListener::bind(self.address).await {
                Err(error) if tries == 100 => return Err(error),
                // The old listener may take a moment to go.
                Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
                Ok(listener) => break listener,
            }
            tries += 1;
        };
        self.listen(listener);
        Ok(())
    }

    fn listening(&self) -> MutexGuard<'_, Option<JoinHandle<()>>> {
        self.listening.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn listen(&self, listener: TcpListener) {
        let (server, state) = (self.server.clone(), self.state.clone());
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(join(client, server.clone(), state.clone()));
            }
        });
        *self.listening() = Some(accepting);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.cut();
    }
}

/// Joins a client with the server until one of them leaves or the wire is cut.
async fn join(client: TcpStream, server: String, state: Arc<State>) {
    let mut cut = state.cut.subscribe();
    cut.mark_unchanged();
    let Ok(server) = TcpStream::connect(&server).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let up = up(from_client, to_server, state.clone());
    let down = down(from_server, to_client, state.clone());
    tokio::select! {
        _ = cut.changed() => {}
        _ = up => {}
        _ = down => {}
    }
}

async fn up(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: Arc<State>) -> io::Result<()> {
    let mut buffer = vec![0u8; 64 << 10];
    loop {
        let n = from.read(&mut buffer).await?;
        state.heard().await;
        match buffer.get(..n) {
            None | Some([]) => return Ok(()),
            Some(said) => to.write_all(said).await?,
        }
    }
}

async fn down(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, state: Arc<State>) -> io::Result<()> {
    let mut buffer = vec![0u8; 64 << 10];
    let mut marked = false;
    loop {
        let n = from.read(&mut buffer).await?;
        state.heard().await;
        let said = match buffer.get(..n) {
            None | Some([]) => return Ok(()),
            Some(said) => said,
        };
        marked |= state.is_marked(said);
        match Some(()).filter(|()| marked && said.ends_with(IDLE)).and_then(|()| state.spring()) {
            Some(Then::Close) => return Ok(()),
            Some(Then::Hold) => std::future::pending::<()>().await,
            None => to.write_all(said).await?,
        }
    }
}
