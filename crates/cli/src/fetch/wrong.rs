//! What is wrong with what was asked for, by the places that whoever asked knows: the number of a URL, the line of a file.

use redrive_api::ProblemError;
use redrive_api::client::ClientError;
use redrive_fetch::{AcceptError, ManifestProblem, Spot};
use redrive_model::Code;

use crate::exit::{Exit, Stop};

/// So many things that are wrong are told: often the rest is the same again.
const TOLD: usize = 3;

/// What a line of the manifest is to whoever asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Source {
    /// Arguments, below so many lines of our own.
    Urls { above: u64 },
    /// A list with one URL a line, below so many lines of our own.
    List { above: u64 },
    /// Their own manifest.
    Manifest,
}

impl Source {
    /// Why nothing was fetched, when we were to do it.
    pub(super) fn not_accepted(self, error: AcceptError<std::io::Error>) -> Stop {
        match error {
            AcceptError::Refused(problems) => self.refused(&problems.problems),
            error @ AcceptError::Body(_) => Stop::new(Exit::Failed, error.to_string()),
            AcceptError::Mismatch => Stop::new(Exit::Conflict, "another manifest has this batch's id"),
            AcceptError::Unavailable(failure) => Stop::new(Exit::Failed, failure.message),
        }
    }

    /// Why nothing was fetched, when a server was to do it.
    pub(super) fn not_taken(self, error: ClientError) -> Stop {
        match error {
            ClientError::Refused(problem) if !problem.errors.is_empty() => {
                self.refused(&problem.errors.into_iter().map(problem_of).collect::<Vec<_>>())
            }
            error => error.into(),
        }
    }

    fn refused(self, problems: &[ManifestProblem]) -> Stop {
        let told: Vec<String> = problems.iter().take(TOLD).map(|problem| self.words(problem)).collect();
        let more = match problems.len().saturating_sub(TOLD) {
            0 => String::new(),
            more => format!("; and {more} more"),
        };
        Stop::new(Exit::Usage, format!("nothing was fetched: {}{more}", told.join("; ")))
    }

    fn words(self, problem: &ManifestProblem) -> String {
        let (name, above) = match self {
            Self::Urls { above } => ("URL", above),
            Self::List { above } => ("line", above),
            Self::Manifest => return problem.to_string(),
        };
        match problem.spot {
            Spot::Line(line) if line > above => format!("{name} {}: {}", line - above, problem.reason),
            // Of what an option said: it stands in our own line.
            Spot::Line(_) | Spot::Whole | Spot::Resource(_) => match problem.field.as_deref() {
                Some(field @ ("to" | "proxy_pool")) => {
                    format!("--{}: {}", field.replace('_', "-"), problem.reason)
                }
                Some(_) | None => problem.reason.clone(),
            },
        }
    }
}

/// The same as the server told it.
fn problem_of(told: ProblemError) -> ManifestProblem {
    let resource = told.resource.and_then(|n| usize::try_from(n).ok());
    ManifestProblem {
        code: Code::parse(&told.code).unwrap_or(Code::ValidationMalformed),
        spot: told.line.map(Spot::Line).or(resource.map(Spot::Resource)).unwrap_or(Spot::Whole),
        field: told.field,
        reason: told.detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_asked_finds_the_place_again() {
        let told = |source: Source, line: Option<u64>, field: &str| {
            let code = "VALIDATION_INVALID_FIELD".to_owned();
            let (field, detail) = (Some(field.to_owned()), "is wrong".to_owned());
            source.words(&problem_of(ProblemError { code, line, resource: None, field, detail }))
        };
        assert_eq!(told(Source::Manifest, Some(2), "url"), "line 2: url: is wrong");
        assert_eq!(told(Source::List { above: 0 }, Some(2), "url"), "line 2: is wrong");
        assert_eq!(told(Source::List { above: 1 }, Some(2), "url"), "line 1: is wrong");
        assert_eq!(told(Source::Urls { above: 1 }, Some(3), "url"), "URL 2: is wrong");
        assert_eq!(told(Source::Urls { above: 1 }, Some(1), "to"), "--to: is wrong");
        assert_eq!(told(Source::List { above: 1 }, Some(1), "proxy_pool"), "--proxy-pool: is wrong");
        assert_eq!(told(Source::List { above: 0 }, None, "resources"), "is wrong");
    }
}
