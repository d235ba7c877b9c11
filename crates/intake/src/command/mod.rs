//! A document that is processed by a program of the user's: `INTAKE_COMMAND`.
//!
//! It is called with the PDF and an empty folder as its last two arguments, and whatever files it leaves there are the result. Exit code 0
//! means that it is done. Everything else is a failure with its code and its last line; 65 (`EX_DATAERR`) says that the document is not
//! one for it. It works on a copy of the PDF: what it does to that is done to nobody.

mod collect;
mod copy;

use std::path::PathBuf;
use std::time::Duration;

use redrive_blob::{BlobError, Blobs, Sealed, room};
use redrive_engine::{Code, Failure, Target};
use redrive_gateway_client::Outgoing;
use redrive_program::{Call, Program, ProgramError, RunError, Words, Workroom};
use rustix::io::Errno;

/// What a program says that cannot use a document: `EX_DATAERR` of sysexits.
const REFUSED: i32 = 65;
/// With less room than this a program that failed is believed to have failed for that.
const NO_ROOM: u64 = 1 << 20;

/// How the program is called.
#[derive(Debug, Clone)]
pub struct CommandOptions {
    /// The program and its arguments, with quotes where there are spaces. No shell reads it.
    pub line: String,
    /// Its whole environment; `PATH` finds the program.
    pub environment: Vec<(String, String)>,
    /// It has so long for one document.
    pub timeout: Duration,
    /// So many bytes of memory for each of its processes; as much as there is, unless said.
    pub memory: Option<u64>,
    /// Where it works, each time in a folder of its own that is gone afterwards.
    pub scratch: PathBuf,
    /// All files that it leaves together have at most so many bytes.
    pub max_result: u64,
}

/// Why there is no such step.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CommandError {
    /// There is nothing to run.
    #[error(transparent)]
    Program(#[from] ProgramError),
    /// No place to work in.
    #[error("cannot work in the folder {0}: {1}")]
    Scratch(PathBuf, std::io::Error),
}

/// A program that processes documents.
#[derive(Debug, Clone)]
pub struct Command {
    program: Program,
    options: CommandOptions,
}

/// A document on the program's desk.
pub(crate) struct Prepared {
    room: Workroom,
    pdf: PathBuf,
    name: String,
}

/// A file that the program left.
pub(crate) struct Left {
    /// What follows the document's name without its ending: `.xml` for a file that is called as the document is, `/pages/1.png` for
    /// everything else.
    pub(crate) suffix: String,
    /// The file.
    pub(crate) sealed: Sealed,
}

impl Command {
    /// Finds the program, makes the folder to work in, and removes what the dead left there. Nothing is run yet.
    pub fn new(options: CommandOptions) -> Result<Self, CommandError> {
        let program = Program::find(&options.line, options.environment.clone(), "the command")?;
        let swept =
            std::fs::create_dir_all(&options.scratch).and_then(|()| Workroom::sweep(&options.scratch));
        swept.map_err(|error| CommandError::Scratch(options.scratch.clone(), error))?;
        Ok(Self { program, options })
    }

    /// Copies a document to where the program finds it, under its own name.
    pub(crate) async fn prepare(&self, name: &str, pdf: Outgoing) -> Result<Prepared, Failure> {
        let scratch = self.options.scratch.clone();
        let made = tokio::task::spawn_blocking(move || {
            // What a process that was killed has left is in nobody's way but the disk's.
            if let Err(error) = Workroom::sweep(&scratch) {
                tracing::warn!(event = "intake.not_swept", "{}: {error}", scratch.display());
            }
            let room = Workroom::make(&scratch)?;
            for folder in ["in", "out"] {
                std::fs::create_dir(room.at(folder))?;
            }
            Ok(room)
        });
        let room =
            made.await.map_err(|error| Failure::new(Code::SystemInternal, error))?.map_err(|e| ours(&e))?;
        let path = room.at("in").join(name);
        copy::write(&path, pdf).await?;
        Ok(Prepared { room, pdf: path, name: name.to_owned() })
    }

    /// Runs the program, and takes what it left. Dropped before its end, it ends the program with everything it started.
    pub(crate) async fn process(&self, on: &Prepared, blobs: &dyn Blobs) -> Result<Vec<Left>, Failure> {
        let out = on.room.at("out");
        let call = Call {
            arguments: &[on.pdf.clone().into_os_string(), out.clone().into_os_string()],
            input: &[],
            words: Words::Unheard,
            folder: Some(&out),
            timeout: self.options.timeout,
            memory: self.options.memory,
        };
        if let Err(error) = self.program.run(call).await {
            return Err(self.failed(&error));
        }
        collect::all(&out, &on.name, blobs, self.options.max_result).await
    }

    /// Whose fault it was.
    fn failed(&self, error: &RunError) -> Failure {
        let full = room::free(&self.options.scratch).is_ok_and(|free| free < NO_ROOM);
        match error {
            RunError::Exhausted(_) => disk(Failure::new(Code::MemoryError, error)),
            RunError::TimedOut(_) => Failure::new(Code::HandlerTimeout, error),
            _ if full => {
                disk(Failure::new(Code::DiskFull, format!("there is no room for it to work: {error}")))
            }
            RunError::Exit { code: REFUSED, .. } => Failure::new(Code::HandlerRefused, error),
            _ => Failure::new(Code::HandlerFailed, error),
        }
    }
}

/// Our own machine's fault, and not the program's.
fn ours(error: &std::io::Error) -> Failure {
    match Errno::from_io_error(error) {
        Some(Errno::NOSPC | Errno::DQUOT) => disk(BlobError::Full.failure()),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOMEM) => {
            disk(Failure::new(Code::MemoryError, format!("no file for the command: {error}")))
        }
        _ => Failure::new(Code::IoError, format!("the folder that the command works in: {error}")),
    }
}

fn disk(failure: Failure) -> Failure {
    match Target::new("disk") {
        Ok(disk) => failure.at(disk),
        Err(_) => failure,
    }
}

#[cfg(test)]
mod tests;
