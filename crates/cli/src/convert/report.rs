//! What people and programs are told: a line per file, a bar on a terminal, a sum at the end.
//!
//! stdout is data (what was written, or JSON), stderr is messages (what failed, how far it is).

use std::io::{IsTerminal, Write, stderr, stdout};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use serde::Serialize;

use super::outcome::{Outcome, Trouble, Written};
use super::plan::Item;
use crate::exit::{Exit, Stop};

/// One line of `--json`.
#[derive(Debug, Serialize)]
struct Line<'a> {
    file: String,
    output: String,
    /// `complete`, `failed` or `interrupted`.
    status: &'static str,
    /// It was there before this run.
    already: bool,
    bytes: Option<u64>,
    sha256: Option<&'a str>,
    pages: Option<u32>,
    warnings: &'a [String],
    error: Option<&'a Trouble>,
}

/// Tells, and counts.
#[derive(Debug)]
pub(crate) struct Report {
    json: bool,
    bar: ProgressBar,
    written: usize,
    already: usize,
    failed: usize,
    interrupted: usize,
    waiting: bool,
}

impl Report {
    /// For so many files.
    pub(crate) fn new(files: usize, json: bool) -> Self {
        let shown = stderr().is_terminal() && files > 1;
        let target = if shown { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
        let bar = ProgressBar::with_draw_target(Some(files as u64), target);
        let style = ProgressStyle::with_template("{bar:30} {pos}/{len} files, {per_sec}, {eta} left {msg}");
        if let Ok(style) = style {
            bar.set_style(style);
        }
        Self { json, bar, written: 0, already: 0, failed: 0, interrupted: 0, waiting: false }
    }

    /// What became of a file.
    pub(crate) fn tell(&mut self, item: &Item, outcome: Outcome) {
        let none = Written::default();
        let (status, written, error) = match &outcome {
            Outcome::Written(written) => ("complete", written, None),
            Outcome::Failed(trouble) => ("failed", &none, Some(trouble)),
            Outcome::Interrupted => ("interrupted", &none, None),
        };
        match &outcome {
            Outcome::Written(Written { already: true, .. }) => self.already += 1,
            Outcome::Written(_) => self.written += 1,
            Outcome::Failed(_) => self.failed += 1,
            Outcome::Interrupted => self.interrupted += 1,
        }
        let (file, output) = (item.input.display().to_string(), item.output.display().to_string());
        let done = status == "complete";
        if self.json {
            let line = Line {
                file,
                output,
                status,
                already: written.already,
                bytes: done.then_some(written.bytes),
                sha256: done.then_some(written.sha256.as_str()),
                pages: written.pages,
                warnings: &written.warnings,
                error,
            };
            self.out(&serde_json::to_string(&line).unwrap_or_default());
        } else if done {
            let already = if written.already { " (as it was)" } else { "" };
            let warned = if written.warnings.is_empty() {
                String::new()
            } else {
                format!(" ({})", written.warnings.join(", "))
            };
            self.out(&format!("{file} → {output}{already}{warned}"));
        }
        if let Some(Trouble { code, message, what_we_do, what_you_can_do }) = error {
            self.say(&format!(
                "redrive: {}: {code}: {message} {what_we_do} {what_you_can_do}",
                item.input.display()
            ));
        }
        self.bar.inc(1);
    }

    /// A file of which nothing is known any more.
    pub(crate) fn broke(&mut self, why: &str) {
        self.failed += 1;
        self.say(&format!("redrive: a file was lost on the way: {why}"));
    }

    /// Files that were never begun.
    pub(crate) fn left(&mut self, files: usize) {
        self.interrupted += files;
    }

    /// We were told to stop.
    pub(crate) fn stopping(&self) {
        self.bar.set_message("stopping");
        self.say("redrive: stopping after what has begun; once more stops at once");
    }

    /// Whether files wait for the gateway. Told when it begins and when it ends.
    pub(crate) fn waiting(&mut self, waiting: bool) {
        if waiting == self.waiting {
            return;
        }
        self.waiting = waiting;
        self.say(if waiting {
            "redrive: the gateway does not answer; files wait and go on by themselves when it does (Ctrl-C stops)"
        } else {
            "redrive: the gateway answers again"
        });
    }

    /// A message.
    pub(crate) fn say(&self, text: &str) {
        self.bar.suspend(|| drop(writeln!(stderr(), "{text}")));
    }

    fn out(&self, text: &str) {
        self.bar.suspend(|| drop(writeln!(stdout(), "{text}")));
    }

    /// The sum of it, and how the command ends.
    pub(crate) fn end(self) -> Result<(), Stop> {
        self.bar.finish_and_clear();
        let mut parts = vec![format!("{} converted", self.written)];
        let more = [(self.already, "as they were"), (self.failed, "failed"), (self.interrupted, "not done")];
        parts.extend(
            more.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")),
        );
        let sum = parts.join(", ");
        if self.interrupted > 0 {
            return Err(Stop::new(Exit::Interrupted, format!("{sum}; the same command goes on from here")));
        }
        if self.failed > 0 {
            return Err(Stop::new(Exit::SomeFailed, sum));
        }
        self.say(&format!("redrive: {sum}"));
        Ok(())
    }
}
