//! A plain HTTP client on a real socket, and servers for it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use redrive_door::Limits;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

/// A server in this process, stopped when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<()>>,
    runtime: Runtime,
}

impl Server {
    /// A server of this router.
    pub(crate) fn with(router: axum::Router, limits: Limits) -> Self {
        Self::run(async move |listener, stopped| {
            redrive_door::serve(listener, router, limits, stopped).await;
        })
    }

    /// The same, where whoever comes from this machine is a relay.
    pub(crate) fn behind_relays(router: axum::Router, limits: Limits) -> Self {
        Self::run(async move |listener, stopped| {
            let is_relay = |address: std::net::IpAddr| address.is_loopback();
            redrive_door::serve_behind(listener, router, limits, is_relay, stopped).await;
        })
    }

    fn run<F>(serve: impl FnOnce(TcpListener, Stopped) -> F + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let stopped: Stopped = Box::pin(async move { drop(stopped.await) });
        let running = runtime.spawn(serve(listener, stopped));
        Self { address, stop: Some(stop), running: Some(running), runtime }
    }

    pub(crate) fn connect(&self) -> Client {
        Client::new(self.address)
    }

    /// One request on a connection of its own.
    pub(crate) fn ask(&self, request: &[u8]) -> Answer {
        let mut client = self.connect();
        client.send(request);
        client.answer()
    }

    /// Begins to stop.
    pub(crate) fn stop(&mut self) {
        let _ = self.stop.take().unwrap().send(());
    }

    /// Waits until it has stopped.
    pub(crate) fn join(&mut self) {
        self.runtime.block_on(self.running.take().unwrap()).unwrap();
    }
}

type Stopped = std::pin::Pin<Box<dyn Future<Output = ()> + Send>>;

/// One connection.
pub(crate) struct Client {
    pub(crate) stream: TcpStream,
    buffer: Vec<u8>,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (key, value) = line.split_once(": ")?;
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

impl Client {
    pub(crate) fn new(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        Self { stream, buffer: Vec::new() }
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    pub(crate) fn answer(&mut self) -> Answer {
        loop {
            let answer = self.one_answer();
            // `100 Continue` is no answer yet.
            if answer.status != 100 {
                return answer;
            }
        }
    }

    pub(crate) fn one_answer(&mut self) -> Answer {
        let end = loop {
            if let Some(at) = self.buffer.windows(4).position(|window| window == b"\r\n\r\n") {
                break at + 4;
            }
            assert!(self.fill(), "the connection ended without an answer");
        };
        let head = String::from_utf8(self.buffer.drain(..end).collect()).unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        let mut answer = Answer { status, head, body: Vec::new() };
        let length: usize = answer.header("content-length").map_or(0, |length| length.parse().unwrap());
        while self.buffer.len() < length {
            assert!(self.fill(), "the body broke off");
        }
        answer.body = self.buffer.drain(..length).collect();
        answer
    }

    /// Whether the server has closed the connection; waits for it.
    pub(crate) fn is_closed(&mut self) -> bool {
        match self.stream.read(&mut [0; 1024]) {
            Ok(count) => count == 0,
            Err(error) => error.kind() == ErrorKind::ConnectionReset,
        }
    }

    /// Whether nothing comes for a moment.
    pub(crate) fn is_silent(&mut self, moment: Duration) -> bool {
        self.stream.set_read_timeout(Some(moment)).unwrap();
        let result = self.stream.peek(&mut [0; 1]);
        self.stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        matches!(result, Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut))
    }

    fn fill(&mut self) -> bool {
        let mut piece = vec![0; 64 * 1024];
        let count = self.stream.read(&mut piece).unwrap_or(0);
        self.buffer.extend_from_slice(&piece[..count]);
        count > 0
    }
}

/// The head of a request whose body has so many bytes.
pub(crate) fn post(path: &str, bytes: usize) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {bytes}\r\n\r\n").into_bytes()
}

pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes()
}
