//! One run of a program, from its start to its end. Whatever happens, nothing of it is left running.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use redrive_model::text::one_line_chars;
use rustix::process::{Resource, getrlimit};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::error::RunError;
use crate::group::Group;
use crate::program::Program;

/// The end of what it complains about that is kept.
const MAX_COMPLAINT: usize = 4 * 1024;
/// So much of its last line is told.
const MAX_LINE_CHARS: usize = 200;
/// What it started may hold its pipes for so long after it has ended.
const LINGER: Duration = Duration::from_secs(1);

/// What is wanted of one run.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// Arguments behind those of the command line.
    pub arguments: &'a [OsString],
    /// What it reads from its stdin. It need not read it.
    pub input: &'a [u8],
    /// What becomes of its stdout.
    pub words: Words,
    /// Where it runs; our own folder unless said.
    pub folder: Option<&'a Path>,
    /// It has so long.
    pub timeout: Duration,
    /// So many bytes of memory for each of its processes: what it may write to, not what it only reserves.
    pub memory: Option<u64>,
}

/// What becomes of what a program writes to its stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Words {
    /// Nobody reads it.
    Unheard,
    /// It is the answer, of at most so many bytes. One that says more has failed.
    Answer(usize),
}

impl Program {
    /// Runs it and gives back what it answered. Dropped before its end, it kills what it started.
    pub async fn run(&self, call: Call<'_>) -> Result<Vec<u8>, RunError> {
        let failed = |error: std::io::Error| RunError::not_run(self.called, &error);
        let mut child = self.command(&call).spawn().map_err(failed)?;
        let mut group = Group::of(&child);
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let ask = async {
            if let Some(mut stdin) = stdin {
                let _ = stdin.write_all(call.input).await;
            }
        };
        let most = match call.words {
            Words::Unheard => 0,
            Words::Answer(most) => most,
        };
        let talk = async { tokio::join!(ask, answer(stdout, most, &group), complaint(stderr)) };
        let whole = async {
            tokio::pin!(talk);
            let (said, waited) = tokio::select! {
                said = &mut talk => (Some(said), group.ended(&mut child).await?),
                waited = group.ended(&mut child) => (None, waited?),
            };
            let said = match said {
                Some(said) => said,
                None => match tokio::time::timeout(LINGER, &mut talk).await {
                    Ok(said) => said,
                    // Somebody it left behind holds its pipes.
                    Err(_) => {
                        group.kill();
                        talk.await
                    }
                },
            };
            let status = match waited {
                Some(status) => status,
                None => {
                    group.kill();
                    child.wait().await?
                }
            };
            Ok((said, status))
        };
        let Ok(ended) = tokio::time::timeout(call.timeout, whole).await else {
            drop(group);
            let _ = child.wait().await;
            let text = format!("{} did not end within {:?} and was killed", self.called, call.timeout);
            return Err(RunError::TimedOut(text));
        };
        let ((_, answer, complaint), status) = ended.map_err(failed)?;
        group.forget();
        self.judge(&call, status, answer, &complaint)
    }

    fn command(&self, call: &Call<'_>) -> Command {
        let mut command = match call.memory {
            Some(memory) => limited(memory, &self.path),
            None => Command::new(&self.path),
        };
        command
            .args(&self.arguments)
            .args(call.arguments)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(if call.input.is_empty() { Stdio::null() } else { Stdio::piped() })
            .stdout(match call.words {
                Words::Unheard => Stdio::null(),
                Words::Answer(_) => Stdio::piped(),
            })
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true);
        if let Some(folder) = call.folder {
            command.current_dir(folder);
        }
        command
    }

    fn judge(
        &self,
        call: &Call<'_>,
        status: ExitStatus,
        answer: Option<Vec<u8>>,
        complaint: &[u8],
    ) -> Result<Vec<u8>, RunError> {
        let called = self.called;
        let said = String::from_utf8_lossy(complaint);
        let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
        let said = match last {
            "" => String::new(),
            last => format!(": {}", one_line_chars(last, MAX_LINE_CHARS)),
        };
        let Some(answer) = answer else {
            let Words::Answer(most) = call.words else { return Ok(Vec::new()) };
            return Err(RunError::Failed(format!("{called} wrote more than {most} bytes{said}")));
        };
        match (status.code(), status.signal()) {
            (Some(0), _) => Ok(answer),
            (Some(code), _) => {
                Err(RunError::Exit { code, text: format!("{called} ended with exit code {code}{said}") })
            }
            (None, signal) => {
                let signal = signal.unwrap_or_default();
                let limit = call.memory.map_or_else(String::new, |bytes| {
                    format!(" (each of its processes has at most {} MiB)", bytes >> 20)
                });
                let text = format!("{called} was killed by signal {signal}{limit}{said}");
                Err(RunError::Failed(text))
            }
        }
    }
}

/// The program behind a shell that lowers its limits and then becomes it. A limit that was set from outside would come too late for what
/// it starts at once, and a process cannot limit its child without a word of unsafe code. No core is left of one that dies.
fn limited(memory: u64, program: &Path) -> Command {
    // A limit that is lower already stays.
    let memory = getrlimit(Resource::Data).maximum.map_or(memory, |most| most.min(memory));
    let mut command = Command::new("/bin/sh");
    command.args(["-c", "ulimit -c 0 && ulimit -d \"$1\" && shift && exec \"$@\"", "sh"]);
    command.arg((memory >> 10).to_string()).arg(program);
    command
}

/// What it writes; nothing when that is too much. Then it need not go on.
async fn answer(from: Option<impl AsyncRead + Unpin>, most: usize, group: &Group) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let Some(from) = from else { return Some(bytes) };
    let mut from = from.take(most as u64 + 1);
    let _ = from.read_to_end(&mut bytes).await;
    if bytes.len() > most {
        group.kill();
        return None;
    }
    Some(bytes)
}

/// The end of what it complains about.
async fn complaint(from: Option<impl AsyncRead + Unpin>) -> Vec<u8> {
    let (mut kept, mut piece) = (Vec::new(), [0; 1024]);
    let Some(mut from) = from else { return kept };
    while let Ok(n @ 1..) = from.read(&mut piece).await {
        kept.extend_from_slice(piece.get(..n).unwrap_or_default());
        if kept.len() > 2 * MAX_COMPLAINT {
            kept.drain(..kept.len() - MAX_COMPLAINT);
        }
    }
    kept
}
