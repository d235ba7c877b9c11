//! A folder for the files by which jobs and tests talk.

use std::path::PathBuf;

use redrive::JobId;
use redrive_lab::worker::line::{self, Line};

use super::eventually;

/// It is removed with the test.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A file in it.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Makes a file appear that somebody waits for.
    pub(crate) fn open(&self, gate: &str) {
        std::fs::write(self.file(gate), "").unwrap();
    }

    /// Where jobs leave their lines.
    pub(crate) fn ledger(&self) -> PathBuf {
        self.file("ledger")
    }

    /// The lines so far.
    pub(crate) fn lines(&self) -> Vec<Line> {
        line::read(&self.ledger()).unwrap()
    }

    /// The lines of a job that say this.
    pub(crate) fn said(&self, job: JobId, word: &str) -> Vec<Line> {
        self.lines().into_iter().filter(|line| line.job == job && line.word == word).collect()
    }

    /// Waits until the job has started under this token.
    pub(crate) async fn started(&self, job: JobId, token: i64) -> Line {
        let found = async || self.said(job, "started").into_iter().find(|line| line.token == token);
        eventually(format_args!("the start of {job} under token {token}"), found).await
    }
}
