//! Lines in files that outlive the process that wrote them.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

use redrive::store::clock::{Clock, SystemClock};
use redrive::{Context, JobId, Timestamp};

/// How often a file is looked for.
const LOOK: Duration = Duration::from_millis(5);

/// What an attempt says about itself: `word job attempt token pid at`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// What happened.
    pub word: String,
    /// To which job.
    pub job: JobId,
    /// In which charged execution.
    pub attempt: u32,
    /// Under which lease token.
    pub token: i64,
    /// In which process.
    pub pid: u32,
    /// When, by the machine's clock.
    pub at: Timestamp,
}

impl Line {
    /// What this attempt says now.
    #[must_use]
    pub fn of(word: &str, ctx: &Context) -> Self {
        Self {
            word: word.to_owned(),
            job: ctx.job(),
            attempt: ctx.attempt(),
            token: ctx.lease().token.0,
            pid: std::process::id(),
            at: SystemClock.now(),
        }
    }

    /// Appends it. One write of one short line: lines of several processes do not mix.
    pub fn append(&self, path: &Path) -> io::Result<()> {
        let Self { word, job, attempt, token, pid, at } = self;
        let text = format!("{word} {job} {attempt} {token} {pid} {at}\n");
        OpenOptions::new().create(true).append(true).open(path)?.write_all(text.as_bytes())
    }
}

impl FromStr for Line {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut words = text.split(' ');
        let mut next = || words.next().ok_or_else(|| anyhow::anyhow!("a word is missing in {text:?}"));
        Ok(Self {
            word: next()?.to_owned(),
            job: next()?.parse()?,
            attempt: next()?.parse()?,
            token: next()?.parse()?,
            pid: next()?.parse()?,
            at: next()?.parse()?,
        })
    }
}

/// Every line of a file; none of a file that is not there yet. A line that is being written is not there yet either.
pub fn read(path: &Path) -> anyhow::Result<Vec<Line>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text?,
    };
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    whole.lines().map(str::parse).collect()
}

/// Waits until this file is there.
pub(super) async fn appears(path: &Path) {
    while !path.exists() {
        tokio::time::sleep(LOOK).await;
    }
}
