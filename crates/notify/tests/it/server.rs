//! Debian's nats-server with JetStream, on a free port, in a folder of its own.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use async_nats::jetstream;
use futures::StreamExt;

/// Where Debian puts it, and others.
const PROGRAMS: &[&str] = &["/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"];

/// The program; without it a test says so and ends.
pub(crate) fn program() -> Option<&'static str> {
    let found = PROGRAMS.iter().copied().find(|path| Path::new(path).exists());
    if found.is_none() {
        eprintln!("skipped: there is no nats-server; `apt-get install nats-server` brings it");
    }
    found
}

pub(crate) struct Server {
    child: Option<Child>,
    program: &'static str,
    port: u16,
    folder: tempfile::TempDir,
}

impl Server {
    /// One that does not run yet, with its port.
    pub(crate) fn planned(program: &'static str) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        Self { child: None, program, port, folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn start(&mut self) {
        let child = Command::new(self.program)
            .args(["-a", "127.0.0.1", "-p", &self.port.to_string(), "-js", "-sd"])
            .arg(self.folder.path())
            .args(["--user", "sink", "--pass", "CANARY"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        self.child = Some(child.unwrap());
    }

    /// kill -9.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("nats://sink:CANARY@127.0.0.1:{}", self.port)
    }

    pub(crate) async fn client(&self) -> jetstream::Context {
        let connecting = async_nats::ConnectOptions::new().retry_on_initial_connect();
        let connecting = connecting.user_and_password("sink".to_owned(), "CANARY".to_owned());
        let client = connecting.connect(format!("nats://127.0.0.1:{}", self.port)).await.unwrap();
        jetstream::new(client)
    }

    /// How many messages the stream has; none when it is not there.
    pub(crate) async fn messages(&self) -> u64 {
        let client = self.client().await;
        match client.get_stream(redrive_notify::STREAM).await {
            Ok(stream) => stream.cached_info().state.messages,
            Err(_) => 0,
        }
    }

    /// Every message of a subject, in the stream's order: its id and its bytes.
    pub(crate) async fn all(&self, subject: &str) -> Vec<(String, Vec<u8>)> {
        let stream = self.client().await.get_stream(redrive_notify::STREAM).await.unwrap();
        let config = jetstream::consumer::pull::Config {
            filter_subject: subject.to_owned(),
            ack_policy: jetstream::consumer::AckPolicy::None,
            ..jetstream::consumer::pull::Config::default()
        };
        let consumer = stream.create_consumer(config).await.unwrap();
        let mut found = Vec::new();
        let mut batch = consumer.fetch().max_messages(100_000).messages().await.unwrap();
        while let Some(message) = batch.next().await {
            let message = message.unwrap();
            let id = message.headers.as_ref().unwrap().get("Nats-Msg-Id").unwrap().to_string();
            found.push((id, message.payload.to_vec()));
        }
        found
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Waits for a fact.
pub(crate) async fn until<F: Future<Output = bool>>(what: &str, mut fact: impl FnMut() -> F) {
    let waiting = async {
        while !fact().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), waiting).await.unwrap_or_else(|_| panic!("never: {what}"));
}
