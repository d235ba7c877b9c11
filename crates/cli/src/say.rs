//! Answers on stdout. A reader that has seen enough (`| head`) ends the command and is no failure.

use std::io::{ErrorKind, Write, stdout};

use serde::Serialize;

use crate::exit::{Exit, Stop};

/// One line of the answer.
pub(crate) fn line(text: &str) -> Result<(), Stop> {
    match writeln!(stdout(), "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
        written => Ok(written?),
    }
}

/// One line of the answer, as a JSON object.
pub(crate) fn json(value: &impl Serialize) -> Result<(), Stop> {
    let text = serde_json::to_string(value).map_err(|error| Stop::new(Exit::Failed, error.to_string()))?;
    line(&text)
}
