//! A command that runs until it is told to stop, and everything it says meanwhile.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::process::redrive;

/// Nothing that a test waits for takes longer.
const PATIENCE: Duration = Duration::from_secs(60);

/// Asks again and again until there is an answer.
pub(crate) fn wait_for<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let until = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < until, "never: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The command and its words so far.
pub(crate) struct Running {
    child: Child,
    out: Arc<Mutex<String>>,
    err: Arc<Mutex<String>>,
    readers: Vec<std::thread::JoinHandle<()>>,
}

impl Running {
    /// Starts it with these settings, and metrics on a free port.
    pub(crate) fn start(args: &[&str], settings: &[(&str, &str)]) -> Self {
        let mut command = redrive(args);
        command.env("METRICS_LISTEN", "127.0.0.1:0").envs(settings.iter().copied());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (out, reader) = gather(child.stdout.take().unwrap());
        let (err, other) = gather(child.stderr.take().unwrap());
        Self { child, out, err, readers: vec![reader, other] }
    }

    /// A server on a free port, on this folder, that listens already.
    pub(crate) fn serve(data: &Path, settings: &[(&str, &str)]) -> Self {
        let args = ["serve", "--listen", "127.0.0.1:0", "--data-dir", data.to_str().unwrap()];
        let server = Self::start(&args, settings);
        server.said("redrive listening on ");
        server
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// What follows these words on a line of its output, as soon as it says them.
    pub(crate) fn said(&self, words: &str) -> String {
        wait_for(&format!("{words:?} in {:?} {:?}", self.out(), self.err()), || {
            let out = self.out();
            let whole = out.rsplit_once('\n').map_or("", |(whole, _)| whole).to_owned();
            whole.lines().find_map(|line| line.strip_prefix(words)).map(|rest| rest.trim().to_owned())
        })
    }

    pub(crate) fn out(&self) -> String {
        self.out.lock().unwrap().clone()
    }

    pub(crate) fn err(&self) -> String {
        self.err.lock().unwrap().clone()
    }

    /// Where it listens.
    pub(crate) fn address(&self) -> String {
        self.said("redrive listening on http://")
    }

    /// What Prometheus would read.
    pub(crate) fn metrics(&self) -> String {
        let url = self.said("metrics  http://");
        let (address, _) = url.split_once('/').unwrap();
        let answer = ask(address, "GET", "/metrics", &[], b"");
        assert_eq!(answer.status, 200);
        answer.body
    }

    pub(crate) fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        ask(&self.address(), method, path, headers, body)
    }

    /// As an operator of this machine.
    pub(crate) fn operate(&self, data: &Path, method: &str, path: &str) -> Answer {
        let bearer = format!("Bearer {}", server_file(data)["token"].as_str().unwrap());
        self.ask(method, path, &[("authorization", &bearer)], b"")
    }

    /// Uploads as an operator of this machine.
    pub(crate) fn upload(&self, data: &Path, name: &str, pdf: &[u8]) -> Answer {
        let bearer = format!("Bearer {}", server_file(data)["token"].as_str().unwrap());
        let head =
            format!("--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"{name}\"\r\n\r\n");
        let body = [head.as_bytes(), pdf, b"\r\n--x--\r\n"].concat();
        let kind = ("content-type", "multipart/form-data; boundary=x");
        self.ask("POST", "/api/upload", &[kind, ("authorization", &bearer)], &body)
    }

    pub(crate) fn signal(&self, signal: &str) {
        let pid = self.pid().to_string();
        assert!(std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success());
    }

    /// Tells it to stop and answers its exit code.
    pub(crate) fn stop(mut self) -> Option<i32> {
        self.signal("-TERM");
        self.child.wait().unwrap().code()
    }

    /// Waits for its end and its last words.
    pub(crate) fn ended(&mut self) -> Option<i32> {
        let code = self.child.wait().unwrap().code();
        for reader in self.readers.drain(..) {
            reader.join().unwrap();
        }
        code
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn gather(from: impl Read + Send + 'static) -> (Arc<Mutex<String>>, std::thread::JoinHandle<()>) {
    let words = Arc::new(Mutex::new(String::new()));
    let into = words.clone();
    let reader = std::thread::spawn(move || {
        let mut from = BufReader::new(from);
        let mut line = String::new();
        while from.read_line(&mut line).is_ok_and(|n| n > 0) {
            into.lock().unwrap().push_str(&line);
            line.clear();
        }
    });
    (words, reader)
}

/// What `server.json` says.
pub(crate) fn server_file(data: &Path) -> serde_json::Value {
    wait_for("server.json", || {
        serde_json::from_str(&std::fs::read_to_string(data.join("server.json")).ok()?).ok()
    })
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    pub(crate) fn job(&self) -> String {
        self.json()["job"]["id"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned()
    }
}

/// One request on a connection of its own.
pub(crate) fn ask(address: &str, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let mut stream = TcpStream::connect(address).unwrap();
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n").unwrap();
    for (name, value) in headers {
        write!(stream, "{name}: {value}\r\n").unwrap();
    }
    write!(stream, "content-length: {}\r\n\r\n", body.len()).unwrap();
    // Who is refused early may find the door closed.
    let _ = stream.write_all(body);
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}")).parse().unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    Answer { status, head: head.to_lowercase(), body: unchunked(head, body) }
}

fn unchunked(head: &str, body: &str) -> String {
    if !head.to_lowercase().contains("transfer-encoding: chunked") {
        return body.to_owned();
    }
    let (mut whole, mut rest) = (String::new(), body);
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap();
        if size == 0 {
            break;
        }
        whole.push_str(&after[..size]);
        rest = &after[size + 2..];
    }
    whole
}
