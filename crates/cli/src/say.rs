//! Answers on stdout, messages on stderr. A reader that has seen enough (`| head`) ends the command and is no failure.

use std::io::{self, ErrorKind, Write, stderr, stdout};

use redrive_model::text::one_line_chars;
use serde::Serialize;

use crate::exit::{Exit, Stop};

/// One line of the answer.
pub(crate) fn line(text: &str) -> Result<(), Stop> {
    sent(writeln!(stdout(), "{text}"))
}

/// What became of a part of the answer.
pub(crate) fn sent(written: io::Result<()>) -> Result<(), Stop> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}

/// A row's last words are cut, so that a row is no wider than this.
const WIDE: usize = 80;

/// One row of a table, and words of others at its end, as far as a narrow terminal has room for them.
pub(crate) fn row(row: &str, words: &str) -> Result<(), Stop> {
    let room = WIDE.saturating_sub(row.chars().count() + 2);
    let words = if room < 4 { String::new() } else { one_line_chars(words, room) };
    line(format!("{row}  {words}").trim_end())
}

/// What is known of one thing, a line each; what is not known is a dash.
pub(crate) fn facts(facts: &[(&str, Option<String>)]) -> Result<(), Stop> {
    for (name, value) in facts {
        let value = value.as_deref().filter(|value| !value.is_empty()).unwrap_or("-");
        line(&format!("{name:<10} {value}"))?;
    }
    Ok(())
}

/// Words of a server about itself. Whoever reads only the first of them does not end it.
pub(crate) fn hello(text: &str) {
    let _ = writeln!(stdout(), "{text}");
}

/// Bytes of the answer, as they are.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Stop> {
    let mut stdout = stdout().lock();
    sent(stdout.write_all(bytes).and_then(|()| stdout.flush()))
}

/// A message. That nobody reads it changes nothing.
pub(crate) fn note(text: &str) {
    let _ = writeln!(stderr(), "redrive: {text}");
}

/// One line of the answer, as a JSON object.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Stop> {
    let text = serde_json::to_string(value).map_err(|error| Stop::new(Exit::Failed, error.to_string()))?;
    line(&text)
}
