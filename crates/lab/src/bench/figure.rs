//! One figure, and what is promised of it, as a row of a table.

use std::process::ExitCode;

/// One figure and what is promised of it.
#[derive(Debug, Clone)]
pub struct Figure {
    /// What was measured.
    pub what: String,
    /// How much.
    pub value: f64,
    /// In what.
    pub unit: &'static str,
    /// At most this is promised; nothing where it is shown to be known.
    pub at_most: Option<f64>,
}

impl Figure {
    /// Whether the promise is kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.at_most.is_none_or(|most| self.value <= most)
    }

    /// The figure as a row of a Markdown table.
    #[must_use]
    pub fn row(&self) -> String {
        let (promise, kept) = match self.at_most {
            Some(most) => (format!("≤ {most}"), if self.is_kept() { "yes" } else { "NO" }),
            None => ("–".to_owned(), "–"),
        };
        format!("| {} | {:.1} {} | {promise} | {kept} |", self.what, self.value, self.unit)
    }
}

/// Prints them as a table; the code says whether every promise is kept.
#[allow(clippy::print_stdout, reason = "the table is the output of a command")]
#[must_use]
pub fn print(figures: &[Figure]) -> ExitCode {
    println!("| what | measured | promised | kept |\n|---|---|---|---|");
    figures.iter().for_each(|figure| println!("{}", figure.row()));
    if figures.iter().all(Figure::is_kept) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

#[cfg(test)]
mod tests {
    use super::Figure;

    #[test]
    fn a_promise_is_kept_up_to_its_limit_and_not_beyond() {
        let figure = |value| Figure { what: "a".into(), value, unit: "ms", at_most: Some(5.0) };
        assert!(figure(5.0).is_kept() && !figure(5.1).is_kept());
        assert!(Figure { at_most: None, ..figure(99.0) }.is_kept());
        assert_eq!(figure(6.0).row(), "| a | 6.0 ms | ≤ 5 | NO |");
    }
}
