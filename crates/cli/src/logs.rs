//! Logs: on stderr, because stdout is data; one line per event.

use std::io::{self, IsTerminal, Write};

use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::{self, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::Registry;

use crate::settings::Values;

/// Where the engine tells of each attempt.
const JOBS: &str = "redrive_engine::runtime::report";

/// How much a command logs unless it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Usual {
    /// What serves says what it does.
    Info,
    /// What ends says only what is odd.
    Warn,
    /// What tells of each failed job itself says it once.
    Reporting,
    /// What tells its whole story itself logs nothing beside it.
    Telling,
}

/// Begins to log, as the settings say. Only the first call counts.
pub(crate) fn start(values: &Values, usual: Usual) {
    let asked = values.text("LOG_LEVEL").and_then(|word| word.parse::<LevelFilter>().ok());
    let (level, jobs) = match (asked, usual) {
        (Some(level), _) => (level, level),
        (None, Usual::Info) => (LevelFilter::INFO, LevelFilter::INFO),
        (None, Usual::Warn) => (LevelFilter::WARN, LevelFilter::WARN),
        (None, Usual::Reporting) => (LevelFilter::WARN, LevelFilter::OFF),
        (None, Usual::Telling) => (LevelFilter::OFF, LevelFilter::OFF),
    };
    let text = match values.text("LOG_FORMAT").as_deref() {
        Some(word) => word == "text",
        // Its lines stand between lines for people.
        None => matches!(usual, Usual::Reporting | Usual::Telling) || io::stderr().is_terminal(),
    };
    // Other people's libraries speak only when something is odd.
    let filter = Targets::new()
        .with_target("redrive", level)
        .with_target(JOBS, jobs)
        .with_default(level.min(LevelFilter::WARN));
    let lines = fmt::layer().with_writer(OneLine);
    let layer = if text {
        lines.with_ansi(io::stderr().is_terminal()).with_filter(filter).boxed()
    } else {
        // Where in the code it was said would be called `target` too, and a target is something else here.
        lines.json().flatten_event(true).with_target(false).with_filter(filter).boxed()
    };
    drop(tracing::subscriber::set_global_default(Registry::default().with(layer)));
}

/// Writes each event as one line, whatever its fields hold.
#[derive(Debug, Clone, Copy)]
struct OneLine;

impl<'a> MakeWriter<'a> for OneLine {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}

impl Write for OneLine {
    fn write(&mut self, event: &[u8]) -> io::Result<usize> {
        io::stderr().lock().write_all(&one_line(event))?;
        Ok(event.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        io::stderr().flush()
    }
}

fn one_line(event: &[u8]) -> Vec<u8> {
    let event = event.strip_suffix(b"\n").unwrap_or(event);
    let plain = |byte: &u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { *byte };
    event.iter().map(plain).chain([b'\n']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_stays_on_its_line() {
        assert_eq!(one_line(b"a\nb\r\nc\n"), b"a b  c\n");
        assert_eq!(one_line(b"a"), b"a\n");
    }
}
