//! Worker processes that are started, stopped and killed.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::{Folder, eventually};

/// A running `lab-worker`. Dropping it kills it.
pub(crate) struct Process {
    child: std::process::Child,
    out: PathBuf,
    said: PathBuf,
}

impl Process {
    /// Starts a worker on this database and waits until it works.
    pub(crate) async fn start(folder: &Folder, url: &str) -> Self {
        Self::start_with(folder, url, &[], &[]).await
    }

    /// The same with further arguments and variables.
    pub(crate) async fn start_with(
        folder: &Folder,
        url: &str,
        args: &[&str],
        variables: &[(&str, &str)],
    ) -> Self {
        let process = Self::spawn(folder, url, args, variables);
        let ready =
            async || std::fs::read_to_string(&process.out).unwrap().starts_with("ready").then_some(());
        eventually(format_args!("a worker; it says {}", process.said.display()), ready).await;
        process
    }

    /// Starts a worker and does not wait.
    pub(crate) fn spawn(folder: &Folder, url: &str, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let n = std::fs::read_dir(folder.file("")).unwrap().count();
        let (out, said) = (folder.file(&format!("out.{n}")), folder.file(&format!("said.{n}")));
        let mut command = Command::new(env!("CARGO_BIN_EXE_lab-worker"));
        command.args(["--database", url]).args(args).envs(variables.iter().copied());
        command.stdin(Stdio::null()).stdout(File::create(&out).unwrap()).stderr(File::create(&said).unwrap());
        Self { child: command.spawn().unwrap(), out, said }
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a signal by pid.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.pid().to_string();
        assert!(Command::new("kill").args([name, &pid]).status().unwrap().success());
    }

    /// Kills it at once, if it has not ended by itself, and waits until it is gone.
    pub(crate) fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Whether it still runs.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// Waits for its end: its exit code, and how long that took.
    pub(crate) async fn ends(&mut self) -> (Option<i32>, Duration) {
        let started = Instant::now();
        let status = eventually("the end of a process", async || self.child.try_wait().unwrap()).await;
        (status.code(), started.elapsed())
    }

    /// Drains it.
    pub(crate) async fn drain(mut self) {
        self.signal("-TERM");
        assert_eq!(self.ends().await.0, Some(0), "{}", self.said());
    }

    /// Whether it has said that its drain is over.
    pub(crate) fn has_drained(&self) -> bool {
        std::fs::read_to_string(&self.out).unwrap().contains("drained")
    }

    /// What it has logged.
    pub(crate) fn said(&self) -> String {
        std::fs::read_to_string(&self.said).unwrap()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
