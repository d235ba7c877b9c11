//! A hook that is a program: `FETCH_HANDLER`.
//!
//! It is called with the phase as its last argument, reads one JSON object from stdin and answers one on stdout. It gets the real URL,
//! no headers, and of the environment what it needs to find its own things.

mod line;
mod run;
mod scratch;

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use redrive_blob::{BlobError, Sha256};
use rustix::io::Errno;
use serde::Serialize;

use super::{Candidate, Hook, HookError, ResourceView, Verdict};
use line::split;
pub(crate) use scratch::sweep as sweep_scratch;

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
    /// Not a command line.
    #[error("there is a quote without its end, or nothing to run")]
    Line,
    /// No program.
    #[error("there is no program {0} that could be run")]
    Program(String),
    /// No place for copies.
    #[error("cannot make the folder {0}: {1}")]
    Scratch(PathBuf, std::io::Error),
}

/// A program that is asked about each resource.
#[derive(Debug, Clone)]
pub struct CommandHook {
    program: PathBuf,
    arguments: Vec<String>,
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
        let mut words = split(&options.line).ok_or(CommandError::Line)?.into_iter();
        let name = words.next().filter(|name| !name.is_empty()).ok_or(CommandError::Line)?;
        let path = options.environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let program = run::find(&name, path.unwrap_or_default()).ok_or(CommandError::Program(name))?;
        let made = std::path::absolute(&options.scratch).and_then(|scratch| {
            std::fs::create_dir_all(&scratch)?;
            Ok(scratch)
        });
        let scratch = made.map_err(|error| CommandError::Scratch(options.scratch.clone(), error))?;
        if let Err(error) = sweep_scratch(&scratch, None) {
            tracing::warn!(event = "handler.not_swept", "{}: {error}", scratch.display());
        }
        let options = CommandOptions { scratch, ..options };
        Ok(Self { program, arguments: words.collect(), options })
    }

    async fn ask(&self, question: &Question<'_>) -> Result<Verdict, HookError> {
        let text = serde_json::to_vec(question).map_err(|error| HookError::Failed(error.to_string()))?;
        let answer = run::run(self, question.phase, text).await?;
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

/// Why the handler could not be run: it cannot be, or our machine has nothing left to run it with.
fn not_run(error: &io::Error) -> HookError {
    let text = format!("the handler could not be run: {error}");
    match Errno::from_io_error(error) {
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM | Errno::AGAIN) => HookError::Exhausted(text),
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
        for (errno, copying, running) in [
            (Errno::NOSPC, Some(Code::DiskFull), Some(Code::HandlerFailed)),
            (Errno::DQUOT, Some(Code::DiskFull), Some(Code::HandlerFailed)),
            (Errno::MFILE, None, None),
            (Errno::NFILE, None, None),
            (Errno::NOMEM, None, None),
            (Errno::AGAIN, Some(Code::IoError), None),
            (Errno::IO, Some(Code::IoError), Some(Code::HandlerFailed)),
            (Errno::NOENT, Some(Code::IoError), Some(Code::HandlerFailed)),
            (Errno::ACCESS, Some(Code::IoError), Some(Code::HandlerFailed)),
        ] {
            assert_eq!(told(no_copy(errno.into())), copying, "{errno:?}");
            assert_eq!(told(not_run(&errno.into())), running, "{errno:?}");
        }
    }
}
