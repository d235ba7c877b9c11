//! The binary as a server: started, asked to stop, killed.

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use super::browser::Browser;
use super::eventually;

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A running `redrive serve`. Dropping it kills it.
pub(crate) struct Server {
    child: Child,
    out: PathBuf,
    said: PathBuf,
    pub(crate) address: String,
}

impl Server {
    /// Starts it and waits until it can be used.
    pub(super) async fn start(home: &Path, settings: BTreeMap<&'static str, String>) -> Self {
        let mut server = Self::spawn(home, &settings, Command::new(env!("CARGO_BIN_EXE_redrive")));
        server.listens().await;
        server.is_ready().await;
        server
    }

    /// Starts it by another program, which gets the binary and its arguments, and does not wait.
    pub(crate) fn spawn(
        home: &Path,
        settings: &BTreeMap<&'static str, String>,
        mut command: Command,
    ) -> Self {
        let n = NEXT.fetch_add(1, Ordering::Relaxed);
        let (out, said) = (home.join(format!("out.{n}")), home.join(format!("said.{n}")));
        if command.get_program() != env!("CARGO_BIN_EXE_redrive") {
            command.arg(env!("CARGO_BIN_EXE_redrive"));
        }
        // Nothing of whoever runs the tests.
        command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin").envs(settings);
        command.args(["serve", "--listen", "127.0.0.1:0"]).stdin(Stdio::null());
        command.stdout(File::create(&out).unwrap()).stderr(File::create(&said).unwrap());
        Self { child: command.spawn().unwrap(), out, said, address: String::new() }
    }

    /// Waits for the line that says where it listens.
    pub(crate) async fn listens(&mut self) {
        let line = eventually("the server to listen", async || {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("it ended with {status}: {}", self.said());
            }
            let text = std::fs::read_to_string(&self.out).unwrap();
            let (line, _) = text.split_once('\n')?;
            Some(line.to_owned())
        });
        let line = line.await;
        let address = line.strip_prefix("redrive listening on http://");
        self.address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
    }

    /// Waits until it can take work.
    pub(crate) async fn is_ready(&self) {
        let browser = self.browser();
        let ready = async || (browser.get("/readyz").await.status == 200).then_some(());
        eventually("the server to be ready", ready).await;
    }

    /// Somebody with no session yet.
    pub(crate) fn browser(&self) -> Browser {
        Browser::new(&self.address)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by pid.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Kills it at once and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Waits for its end: its exit code, and how long that took.
    pub(crate) async fn ends(&mut self) -> (Option<i32>, Duration) {
        let started = Instant::now();
        let status = eventually("the end of the server", async || self.child.try_wait().unwrap()).await;
        (status.code(), started.elapsed())
    }

    /// Asks it to stop; it must end well.
    pub(crate) async fn stop(mut self) {
        self.signal("-TERM");
        assert_eq!(self.ends().await.0, Some(0), "{}", self.said());
    }

    /// What it has logged.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap_or_default()
    }

    /// What Prometheus would read.
    pub(crate) async fn metrics(&self) -> String {
        let out = std::fs::read_to_string(&self.out).unwrap();
        let url = out.lines().find_map(|line| line.strip_prefix("metrics  http://")).unwrap();
        let (address, _) = url.split_once('/').unwrap();
        Browser::new(address).get("/metrics").await.text()
    }

    /// A number of `/proc/PID/status`, in KiB.
    pub(crate) fn memory(&self, name: &str) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/status", self.pid())).unwrap();
        let line = text.lines().find(|line| line.starts_with(name)).unwrap();
        line.split_whitespace().nth(1).unwrap().parse().unwrap()
    }

    /// How many files and sockets it has open.
    pub(crate) fn handles(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.pid())).unwrap().count()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
