//! The server under measurement: `redrive serve` on a folder of its own, what it costs, and plain requests to it.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Stdio;

use anyhow::{Context, Result, bail};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpSocket, TcpStream};
use tokio::process::{Child, Command};

/// What Linux counts processor time in, on every machine.
const TICKS: f64 = 100.0;

/// A running server; it ends with this.
#[derive(Debug)]
pub struct Server {
    child: Child,
    /// Where it listens.
    pub address: SocketAddr,
}

impl Server {
    /// Starts this program, on this folder, and waits until it listens.
    pub async fn start(program: &Path, home: &Path) -> Result<Self> {
        Self::start_with(program, home, &[]).await
    }

    /// The same with these settings.
    pub async fn start_with(program: &Path, home: &Path, settings: &[(&str, &str)]) -> Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen", "127.0.0.1:0", "--data-dir"]).arg(home);
        command.env("METRICS_LISTEN", "127.0.0.1:0").env("LOG_LEVEL", "warn").envs(settings.iter().copied());
        command.stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
        let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
        let out = child.stdout.take().context("the server has no output")?;
        let mut lines = BufReader::new(out).lines();
        while let Some(line) = lines.next_line().await? {
            if let Some(address) = line.strip_prefix("redrive listening on http://") {
                let address = address.trim().parse()?;
                // What it says further is read and thrown away, so that it never waits for us.
                tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
                return Ok(Self { child, address });
            }
        }
        bail!("{} ended without listening", program.display())
    }

    /// Seconds of processor time that it has used.
    pub fn processor(&self) -> Result<f64> {
        let pid = self.child.id().context("the server has ended")?;
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
        let rest = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
        // From the third field on; 14 and 15 are user and system.
        let ticks: f64 = rest.split_whitespace().skip(11).take(2).filter_map(|n| n.parse::<f64>().ok()).sum();
        Ok(ticks / TICKS)
    }

    /// A connection from this address of the machine: a crowd shares one that is nobody else's.
    pub async fn connect(&self, from: &str) -> Result<TcpStream> {
        let socket = TcpSocket::new_v4()?;
        socket.bind(SocketAddr::new(from.parse()?, 0))?;
        Ok(socket.connect(self.address).await?)
    }

    /// One request on a connection of its own: its status, its head, its body.
    pub async fn ask(&self, head: &str, body: &[u8]) -> Result<(u16, String)> {
        let mut stream = self.connect("127.0.0.1").await?;
        let length = body.len();
        let head = format!("{head}\r\nhost: x\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        stream.write_all(body).await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.context("no answer")?, answer))
    }

    /// What an operator is answered, as JSON.
    pub async fn json(&self, path: &str, token: &str) -> Result<serde_json::Value> {
        let head = format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {token}");
        let (_, answer) = self.ask(&head, b"").await?;
        let (_, body) = answer.split_once("\r\n\r\n").context("an answer without a body")?;
        Ok(serde_json::from_str(body)?)
    }

    /// A session's cookie.
    pub async fn session(&self) -> Result<String> {
        let (_, answer) = self.ask("GET / HTTP/1.1", b"").await?;
        let line = answer.lines().find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = line.and_then(|line| line.split(';').next()).context("no session was begun")?;
        Ok(cookie.to_owned())
    }

    /// Uploads a PDF of this number for a session.
    pub async fn upload(&self, cookie: &str, number: usize) -> Result<u16> {
        let pdf = [format!("%PDF-1.4\n% {number}\n").as_bytes(), &redrive_gateway::sample::hello()].concat();
        let part = b"--XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n";
        let body = [&part[..], &pdf, b"\r\n--XX--\r\n"].concat();
        let head = format!(
            "POST /api/upload HTTP/1.1\r\ncookie: {cookie}\r\ncontent-type: multipart/form-data; boundary=XX"
        );
        Ok(self.ask(&head, &body).await?.0)
    }
}
