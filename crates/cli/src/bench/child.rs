//! A worker in a process of its own, so that it can be watched and killed.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::sync::mpsc;

use super::load::{Counter, DoNothing, GoOn};
use super::place::Place;

/// Said when the worker is there.
const READY: &str = "ready";
/// Said when the endless job runs.
const RUNS: &str = "runs";

/// What the child process does: works until it is killed. The database's URL, which may hold a password, comes by stdin: what
/// stands on a command line is seen by everybody.
pub(crate) async fn work(ttl: Duration) -> Result<()> {
    let mut url = String::new();
    std::io::stdin().read_line(&mut url)?;
    let engine = Place::engine_with(url.trim_end(), ttl).await?;
    let (sender, mut starts) = mpsc::unbounded_channel();
    engine.register(DoNothing(Counter::to(usize::MAX)));
    engine.register(GoOn(sender));
    let _running = engine.start();
    say(READY)?;
    while starts.recv().await.is_some() {
        say(RUNS)?;
    }
    Ok(())
}

fn say(word: &str) -> Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{word}")?;
    Ok(out.flush()?)
}

/// A worker process. It is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl WorkerProcess {
    /// Starts this very program as a worker and waits until it is there.
    pub(crate) fn start(url: &str, ttl: Duration) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?)
            .args(["bench", "--worker", "--ttl", &ttl.as_secs().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        writeln!(child.stdin.take().context("the child has no input")?, "{url}")?;
        let said = BufReader::new(child.stdout.take().context("the child has no output")?);
        let mut worker = Self { child, said };
        worker.wait_for(READY)?;
        Ok(worker)
    }

    /// Waits until the endless job runs there.
    pub(crate) fn until_it_runs(&mut self) -> Result<()> {
        self.wait_for(RUNS)
    }

    fn wait_for(&mut self, word: &str) -> Result<()> {
        let mut line = String::new();
        while self.said.read_line(&mut line)? > 0 {
            if line.trim() == word {
                return Ok(());
            }
            line.clear();
        }
        bail!("the worker process ended before it said {word:?}")
    }

    /// Its process id.
    #[must_use]
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Ends it as `kill -9` does.
    pub(crate) fn kill(&mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for WorkerProcess {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}
