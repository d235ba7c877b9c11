//! The parent's side: starts a child, watches it, and says how it ended.
//!
//! [`Cage::run`] blocks the thread that calls it until the child is gone. That is on purpose: the kernel kills a child when
//! the *thread* that started it ends, so that one thread must see it through.

use std::fs::File;
use std::io::{self, PipeReader, PipeWriter, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::Settings;
use super::order::{CHILD, Order, Task};
use super::output::{self, Output};
use super::verdict::{Ending, Fault, ending, refused};
use crate::convert::Refusal;

/// No more than this of what a child complains about is kept.
const COMPLAINT: usize = 2048;

/// Starts children and watches them.
#[derive(Debug, Clone)]
pub struct Cage {
    settings: Settings,
}

/// How a conversion ended when nothing of ours failed.
#[derive(Debug)]
pub enum Outcome {
    /// There is a result.
    Done(Output),
    /// The file is refused, and would be refused again.
    Refused(Refusal),
}

/// Stops a conversion when it is dropped; a conversion that has ended does not mind.
#[derive(Debug)]
pub struct Stopper(#[expect(dead_code, reason = "closing it is the message")] PipeWriter);

/// The other end of a [`Stopper`].
#[derive(Debug)]
pub struct Stopped(PipeReader);

/// A way to stop one conversion from another thread.
pub fn stopper() -> io::Result<(Stopper, Stopped)> {
    let (reader, writer) = io::pipe()?;
    Ok((Stopper(writer), Stopped(reader)))
}

impl Cage {
    /// A cage with its settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// What its children may use.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs one child on one file and waits for its end, for no longer than the wall time allows.
    pub fn run(&self, pdf: &File, task: &Task, stopped: &Stopped) -> Result<Outcome, Fault> {
        let deadline = Instant::now() + self.settings.wall;
        let result = tempfile::tempfile_in(&self.settings.temp_dir).map_err(Fault::Disk)?;
        let (complaints, child) = self.start(pdf, task, &result)?;
        let mut watched = Watched { child, complaints, complaint: Vec::new() };
        let ending = watched.watch(deadline, stopped, self.settings.cpu)?;
        if !watched.complaint.is_empty() {
            let text = String::from_utf8_lossy(&watched.complaint);
            tracing::warn!(event = "gateway.child", child = %text.trim().escape_debug(), "the child complains");
        }
        match ending {
            Ending::Refused(refusal) => Ok(Outcome::Refused(refusal)),
            Ending::Fault(fault) => Err(fault),
            Ending::Report => {
                let (length, report) = output::parse(&result).map_err(Fault::Disk)?.ok_or(Fault::Bug(0))?;
                if let Some(reason) = &report.unfiltered {
                    warn_unfiltered(reason);
                }
                Ok(match report.outcome {
                    Ok(summary) => Outcome::Done(Output::new(result, length, summary)),
                    Err(refusal) => Outcome::Refused(refusal),
                })
            }
        }
    }

    fn start(&self, pdf: &File, task: &Task, result: &File) -> Result<(PipeReader, Child), Fault> {
        let order = serde_json::to_string(&Order::new(task, &self.settings)).map_err(io::Error::other);
        let (complaints, stderr) = io::pipe().map_err(Fault::Start)?;
        let mut command = Command::new(&self.settings.program);
        command
            .arg0("redrive-gateway-child")
            .arg(CHILD)
            .arg(order.map_err(Fault::Start)?)
            // Nothing secret, and no setting of the loader.
            .env_clear()
            .stdin(pdf.try_clone().map_err(Fault::Disk)?)
            .stdout(result.try_clone().map_err(Fault::Disk)?)
            .stderr(Stdio::from(stderr))
            // Ctrl-C is for the parent, which lets its children finish.
            .process_group(0);
        let child = command.spawn().map_err(Fault::Start)?;
        Ok((complaints, child))
    }
}

/// Once for the whole process, so that it is seen and does not fill the log.
fn warn_unfiltered(reason: &str) {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        tracing::warn!(event = "gateway.no_filter", %reason, "children run without a filter of system calls: this kernel has none for us");
    });
}

/// A child that is gone when this is.
struct Watched {
    child: Child,
    complaints: PipeReader,
    complaint: Vec<u8>,
}

impl Watched {
    /// Waits for the end. The child holds the other end of `complaints` until then.
    fn watch(&mut self, deadline: Instant, stopped: &Stopped, cpu: Duration) -> Result<Ending, Fault> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec {
                tv_sec: left.as_secs().min(3600).cast_signed(),
                tv_nsec: left.subsec_nanos().into(),
            };
            let mut fds =
                [PollFd::new(&self.complaints, PollFlags::IN), PollFd::new(&stopped.0, PollFlags::IN)];
            match poll(&mut fds, Some(&timeout)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(Fault::Start(error.into())),
            }
            let [complaints, stop] = fds.map(|fd| !fd.revents().is_empty());
            if stop {
                return Err(Fault::Stopped);
            }
            if complaints && self.listen()? {
                return self.wait(deadline);
            }
            if left.is_zero() {
                return self.timeout(cpu);
            }
        }
    }

    /// Takes what the child says. Answers whether it has said its last.
    fn listen(&mut self) -> Result<bool, Fault> {
        let mut buffer = [0; 1024];
        let count = self.complaints.read(&mut buffer).map_err(Fault::Start)?;
        let room = COMPLAINT.saturating_sub(self.complaint.len());
        self.complaint.extend(buffer.iter().take(count.min(room)));
        Ok(count == 0)
    }

    /// The pipe is closed, so the child is ending; one that only closed the pipe gets no more time than any other.
    fn wait(&mut self, deadline: Instant) -> Result<Ending, Fault> {
        let mut pause = Duration::from_micros(20);
        loop {
            if let Some(status) = self.child.try_wait().map_err(Fault::Start)? {
                return Ok(ending(status));
            }
            if Instant::now() >= deadline {
                return Ok(Ending::Refused(too_slow()));
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(5));
        }
    }

    /// The time is up. A child that computed for little of it was kept waiting by the machine, not by its file.
    fn timeout(&self, cpu: Duration) -> Result<Ending, Fault> {
        match computed(self.child.id()) {
            Some(used) if used < cpu / 2 => Err(Fault::Starved),
            Some(_) | None => Ok(Ending::Refused(too_slow())),
        }
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        // By handle: the number stays ours until it is waited for. A child that has ended does not mind.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn too_slow() -> Refusal {
    refused("The file takes too much time.")
}

/// How long a process has computed, where the kernel tells.
fn computed(pid: u32) -> Option<Duration> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/schedstat")).ok()?;
    text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
}
