//! One call of the program, from its start to its end. Whatever happens, nothing of it is left running: it leads a process group of its
//! own, and that is killed as a whole when the time is over or nobody waits any more.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use redrive_engine::model::text::one_line_chars;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use super::{CommandHook, not_run};
use crate::hook::HookError;

/// The longest answer.
const MAX_ANSWER: usize = 64 * 1024;
/// The end of what it complains about that is kept.
const MAX_COMPLAINT: usize = 4 * 1024;
/// So much of its last line is told.
const MAX_LINE_CHARS: usize = 200;
/// What it started may hold its pipes for so long after it has ended.
const LINGER: Duration = Duration::from_secs(1);

/// The program's path: as it is when it has a `/`, else the first in `PATH` that can be run.
pub(super) fn find(name: &str, path: &str) -> Option<PathBuf> {
    let runs = |path: &Path| {
        std::fs::metadata(path).is_ok_and(|at| at.is_file() && at.permissions().mode() & 0o111 != 0)
    };
    if name.contains('/') {
        return std::path::absolute(name).ok().filter(|path| runs(path));
    }
    path.split(':')
        .filter(|folder| !folder.is_empty())
        .map(|folder| Path::new(folder).join(name))
        .find(|at| runs(at))
}

/// Runs it and gives back what it wrote.
pub(super) async fn run(hook: &CommandHook, phase: &str, question: Vec<u8>) -> Result<Vec<u8>, HookError> {
    let failed = |error: std::io::Error| not_run(&error);
    let mut child = Command::new(&hook.program)
        .args(&hook.arguments)
        .arg(phase)
        .env_clear()
        .envs(hook.options.environment.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .kill_on_drop(true)
        .spawn()
        .map_err(failed)?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let ask = async {
        if let Some(mut stdin) = stdin {
            // One that does not want to know need not read.
            let _ = stdin.write_all(&question).await;
        }
    };
    let talk = async { tokio::join!(ask, answer(stdout, &group), complaint(stderr)) };
    let whole = async {
        tokio::pin!(talk);
        tokio::select! {
            said = &mut talk => Ok((said, child.wait().await?)),
            status = child.wait() => {
                let status = status?;
                let said = match tokio::time::timeout(LINGER, &mut talk).await {
                    Ok(said) => said,
                    // Somebody it left behind holds its pipes; as long as they live the group's number is theirs.
                    Err(_) => {
                        group.kill();
                        talk.await
                    }
                };
                Ok((said, status))
            }
        }
    };
    let Ok(ended) = tokio::time::timeout(hook.options.timeout, whole).await else {
        drop(group);
        let _ = child.wait().await;
        let text = format!("the handler did not end within {:?} and was killed", hook.options.timeout);
        return Err(HookError::TimedOut(text));
    };
    let ((_, answer, complaint), status) = ended.map_err(failed)?;
    // It is gone, and its number may soon be somebody else's.
    group.0 = None;
    judge(status, answer, &complaint)
}

fn judge(status: ExitStatus, answer: Option<Vec<u8>>, complaint: &[u8]) -> Result<Vec<u8>, HookError> {
    let said = String::from_utf8_lossy(complaint);
    let last = said.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    let said =
        if last.is_empty() { String::new() } else { format!(": {}", one_line_chars(last, MAX_LINE_CHARS)) };
    let Some(answer) = answer else {
        return Err(HookError::Failed(format!("the handler wrote more than {MAX_ANSWER} bytes{said}")));
    };
    match (status.code(), status.signal()) {
        (Some(0), _) => Ok(answer),
        (Some(code), _) => Err(HookError::Failed(format!("the handler ended with exit code {code}{said}"))),
        (None, signal) => {
            let signal = signal.unwrap_or_default();
            Err(HookError::Failed(format!("the handler was killed by signal {signal}{said}")))
        }
    }
}

/// What it writes; nothing when that is too much. Then it need not go on.
async fn answer(from: Option<impl AsyncRead + Unpin>, group: &Group) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut from = from?.take(MAX_ANSWER as u64 + 1);
    let _ = from.read_to_end(&mut bytes).await;
    if bytes.len() > MAX_ANSWER {
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

/// A process group that is killed when this is dropped.
struct Group(Option<Pid>);

impl Group {
    fn kill(&self) {
        if let Some(leader) = self.0 {
            let _ = kill_process_group(leader, Signal::KILL);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}
