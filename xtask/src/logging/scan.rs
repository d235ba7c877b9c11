//! The lines that a source file logs.

/// How bad something is, in the log's words.
pub(super) const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// One place where something is logged.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) level: String,
    pub(super) event: Option<String>,
}

/// Finds `tracing::level!(event = "…")`, and the `line!(level, "…")` by which the engine tells ends of attempts.
pub(super) fn lines(source: &str) -> Vec<Line> {
    let mut found = Vec::new();
    for level in LEVELS {
        for call in source.split(&format!("tracing::{level}!(")).skip(1) {
            let event = call.trim_start().strip_prefix("event = \"").and_then(|rest| rest.split('"').next());
            found.push(Line { level: level.to_owned(), event: event.map(str::to_owned) });
        }
        for call in source.split(&format!("line!({level}, \"")).skip(1) {
            found.push(Line { level: level.to_owned(), event: call.split('"').next().map(str::to_owned) });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_found_with_and_without_an_event() {
        let source = "tracing::warn!(\n    event = \"a.b\",\n    x\n); tracing::warn!(\"c\"); line!(debug, \"job.d\", self);";
        let line = |level: &str, event: Option<&str>| Line {
            level: level.to_owned(),
            event: event.map(str::to_owned),
        };
        let expected = [line("warn", Some("a.b")), line("warn", None), line("debug", Some("job.d"))];
        assert_eq!(lines(source), expected);
    }
}
