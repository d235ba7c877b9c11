//! A plain HTTP client on a real socket, and a server for it.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use redrive_gateway::http::{self, Settings};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::sync::oneshot;

use crate::cage;

/// A server in this process, stopped when dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    running: Option<tokio::task::JoinHandle<()>>,
    runtime: Runtime,
}

impl Server {
    /// A gateway with children of the tests.
    pub(crate) fn start(change: impl FnOnce(&mut Settings)) -> Self {
        let mut settings = Settings { cage: cage::settings(), ..Settings::default() };
        change(&mut settings);
        Self::run(async move |listener, stopped| http::serve(listener, settings, stopped).await.unwrap())
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

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The inner code of a problem.
    pub(crate) fn code(&self) -> String {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        let json = self.json();
        assert_eq!(json["status"], self.status);
        for field in ["type", "title", "detail"] {
            assert!(json[field].as_str().is_some_and(|text| !text.is_empty()), "{json}");
        }
        json["code"].as_str().unwrap().to_owned()
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

/// A multipart body of these fields.
pub(crate) fn form(fields: &[(&str, &[u8])]) -> Vec<u8> {
    let mut body = Vec::new();
    for (name, value) in fields {
        let file = if *name == "file" { "; filename=\"a.pdf\"\r\nContent-Type: application/pdf" } else { "" };
        body.extend(
            format!("--XX\r\nContent-Disposition: form-data; name=\"{name}\"{file}\r\n\r\n").as_bytes(),
        );
        body.extend(*value);
        body.extend(b"\r\n");
    }
    body.extend(b"--XX--\r\n");
    body
}

/// A request with a multipart body.
pub(crate) fn post(path: &str, headers: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Type: multipart/form-data; boundary=XX\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A conversion of a script.
pub(crate) fn process(script: &str, mapping: &str) -> Vec<u8> {
    let script = format!("%PDF-{script}");
    post("/process", "", &form(&[("mapping", mapping.as_bytes()), ("file", script.as_bytes())]))
}

pub(crate) fn get(path: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n").into_bytes()
}

/// Asks until the answer has this status: for what comes true in a moment.
pub(crate) fn until_status(server: &Server, request: &[u8], status: u16) {
    let end = std::time::Instant::now() + Duration::from_secs(50);
    while server.ask(request).status != status {
        assert!(std::time::Instant::now() < end, "it never answered {status}");
    }
}
