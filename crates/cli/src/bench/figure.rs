//! One measured figure: a line that programs read, and a row that people read.

use serde::Serialize;

/// One figure. The peers of `bench/` print the same fields.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Figure {
    /// Whose figure it is.
    who: &'static str,
    /// Of which version.
    version: &'static str,
    /// On which database: `postgres` or `sqlite`.
    on: &'static str,
    /// What was measured.
    what: &'static str,
    value: f64,
    unit: &'static str,
}

impl Figure {
    /// A figure of ours.
    pub(super) const fn ours(on: &'static str, what: &'static str, value: f64, unit: &'static str) -> Self {
        Self { who: "redrive", version: env!("CARGO_PKG_VERSION"), on, what, value, unit }
    }

    /// For programs.
    pub(crate) fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

/// For people: one row per thing that was measured, with the median and the range of its runs.
pub(crate) fn summary(figures: &[Figure]) -> String {
    let mut rows: Vec<(&Figure, Vec<f64>)> = Vec::new();
    for figure in figures {
        match rows.iter_mut().find(|(first, _)| (first.on, first.what) == (figure.on, figure.what)) {
            Some((_, values)) => values.push(figure.value),
            None => rows.push((figure, vec![figure.value])),
        }
    }
    let row = |(first, mut values): (&Figure, Vec<f64>)| {
        values.sort_by(f64::total_cmp);
        let [least, middle, most] = [0, values.len() / 2, values.len().saturating_sub(1)]
            .map(|n| number(values.get(n).copied().unwrap_or(f64::NAN)));
        let range = if least == most { String::new() } else { format!("   {least} – {most}") };
        format!("{:<15} {:<8} {middle:>10} {:<12}{range}", first.what, first.on, first.unit)
    };
    rows.into_iter().map(row).map(|row| row.trim_end().to_owned() + "\n").collect()
}

/// Large ones without decimals, small ones with two.
fn number(value: f64) -> String {
    if value >= 1_000.0 { format!("{value:.0}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_the_median_and_the_range() {
        let figures = [30_000.0, 10_000.0, 20_000.4].map(|n| Figure::ours("sqlite", "drain", n, "jobs/s"));
        let mut figures = figures.to_vec();
        figures.push(Figure::ours("sqlite", "pickup_p50", 1.234, "ms"));
        assert_eq!(
            summary(&figures),
            "drain           sqlite        20000 jobs/s         10000 – 30000\n\
             pickup_p50      sqlite         1.23 ms\n"
        );
    }
}
