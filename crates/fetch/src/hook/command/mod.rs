//! A hook that is a program: `FETCH_HANDLER`.
//!
//! It is called with the phase as its last argument, reads one JSON object from stdin and answers one on stdout. It gets the real URL,
//! no headers, and of the environment what it needs to find its own things.

mod scratch;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use redrive_blob::{BlobError, Sha256};
use redrive_program::{Call, Program, ProgramError, RunError, Words};
use rustix::io::Errno;
use serde::Serialize;

use super::{Candidate, Hook, HookError, ResourceView, Verdict};
pub(crate) use scratch::sweep as sweep_scratch;

/// The longest answer.
const MAX_ANSWER: usize = 64 * 1024;

/// How the program is called.
#[derive(Debug, Clone)]
pub struct CommandOptions {
    /// The program and its arguments, with quotes where there are spaces. No shell reads it.
    pub line: String,
    /// It has so long, each time.
    pub timeout: Duration,
    /// Where copies of bytes are put for it to look at; made where it is missing. They are gone when it has looked.
    pub scratch: PathBuf,
    /// Its whole environment; `PATH` finds the program.
    pub environment: Vec<(String, String)>,
}

/// Why there is no such hook.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is nothing to run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// No place for copies.
    #[error("cannot make the folder {0}: {1}")]
    Scratch(PathBuf, std::io::Error),
}

/// A program that is asked about each resource.
#[derive(Debug, Clone)]
pub struct CommandHook {
    program: Program,
    options: CommandOptions,
}

/// What it reads.
#[derive(Serialize)]
struct Question<'a> {
    phase: &'static str,
    #[serde(flatten)]
    about: &'a ResourceView<'a>,
    #[serde(flatten)]
    file: Option<Facts<'a>>,
}

#[derive(Serialize)]
struct Facts<'a> {
    path: &'a Path,
    bytes: u64,
    sha256: Sha256,
    content_type: Option<&'a str>,
    status: u16,
}

impl CommandHook {
    /// Finds the program, makes the folder for copies and removes those that the dead left in it. Nothing is run yet.
    pub fn new(options: CommandOptions) -> Result<Self, CommandError> {
        let program = Program::find(&options.line, options.environment.clone(), "the handler")?;
        let made = std::path::absolute(&options.scratch).and_then(|scratch| {
            std::fs::create_dir_all(&scratch)?;
            Ok(scratch)
        });
        let scratch = made.map_err(|error| CommandError::Scratch(options.scratch.clone(), error))?;
        if let Err(error) = sweep_scratch(&scratch, None) {
            tracing::warn!(event = "handler.not_swept", "{}: {error}", scratch.display());
        }
        let options = CommandOptions { scratch, ..options };
        Ok(Self { program, options })
    }

    async fn ask(&self, question: &Question<'_>) -> Result<Verdict, HookError> {
        let text = serde_json::to_vec(question).map_err(|error| HookError::Failed(error.to_string()))?;
        let call = Call {
            arguments: &[question.phase.into()],
            input: &text,
            words: Words::Answer(MAX_ANSWER),
            folder: None,
            timeout: self.options.timeout,
            memory: None,
        };
        let answer = self.program.run(call).await.map_err(unanswered)?;
        if answer.iter().all(u8::is_ascii_whitespace) {
            return Err(HookError::Failed("the handler said nothing: an answer is at least {}".to_owned()));
        }
        serde_json::from_slice(&answer)
            .map_err(|error| HookError::Failed(format!("the handler's answer cannot be read: {error}")))
    }
}

/// Why there is no copy for the handler to look at. That is never the handler's fault.
fn no_copy(error: io::Error) -> HookError {
    match Errno::from_io_error(&error) {
        Some(Errno::NOSPC | Errno::DQUOT) => HookError::Place(BlobError::Full),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
            HookError::Exhausted(format!("no file for the handler: {error}"))
        }
        _ => {
            let reason = "making a copy for the handler".to_owned();
            HookError::Place(BlobError::Io { reason, source: Some(error) })
        }
    }
}

/// Why there is no answer.
fn unanswered(error: RunError) -> HookError {
    let text = error.to_string();
    match error {
        RunError::TimedOut(_) => HookError::TimedOut(text),
        RunError::Exhausted(_) => HookError::Exhausted(text),
        _ => HookError::Failed(text),
    }
}

#[async_trait]
impl Hook for CommandHook {
    async fn before(&self, about: &ResourceView<'_>) -> Result<Verdict, HookError> {
        self.ask(&Question { phase: "before", about, file: None }).await
    }

    async fn after(&self, about: &ResourceView<'_>, bytes: &Candidate<'_>) -> Result<Verdict, HookError> {
        let failed = |error| no_copy(error);
        // Gone when it is dropped, also when nobody waits any more.
        let copy = scratch::make(&self.options.scratch).map_err(failed)?;
        bytes.copy_to(copy.as_file().try_clone().map_err(failed)?).await?;
        let file = Facts {
            path: copy.path(),
            bytes: bytes.bytes(),
            sha256: bytes.sha256(),
            content_type: bytes.content_type,
            status: bytes.status,
        };
        self.ask(&Question { phase: "after", about, file: Some(file) }).await
    }
}

#[cfg(test)]
mod tests {
    use redrive_engine::Code;

    use super::*;

    #[test]
    fn a_full_disk_and_a_machine_without_handles_are_no_fault_of_the_handler() {
        let told = |error: HookError| match error {
            HookError::Place(error) => Some(error.code()),
            HookError::Exhausted(_) => None,
            HookError::Failed(_) | HookError::TimedOut(_) => Some(Code::HandlerFailed),
        };
        for (errno, copying) in [
            (Errno::NOSPC, Some(Code::DiskFull)),
            (Errno::DQUOT, Some(Code::DiskFull)),
            (Errno::MFILE, None),
            (Errno::NFILE, None),
            (Errno::NOMEM, None),
            (Errno::IO, Some(Code::IoError)),
            (Errno::ACCESS, Some(Code::IoError)),
        ] {
            assert_eq!(told(no_copy(errno.into())), copying, "{errno:?}");
        }
        assert_eq!(told(unanswered(RunError::Exhausted("no process".to_owned()))), None);
    }
}
