//! One measured figure, as a line that `bench/run` reads.

use serde::Serialize;

/// One figure. The peers print the same fields.
#[derive(Debug, Clone, Serialize)]
pub struct Figure {
    /// Whose figure it is.
    pub who: &'static str,
    /// Of which version.
    pub version: &'static str,
    /// On which database: `postgres` or `sqlite`.
    pub on: &'static str,
    /// What was measured.
    pub what: &'static str,
    /// The figure.
    pub value: f64,
    /// What the figure counts.
    pub unit: &'static str,
}

impl Figure {
    /// A figure of ours.
    #[must_use]
    pub const fn ours(on: &'static str, what: &'static str, value: f64, unit: &'static str) -> Self {
        Self { who: "redrive", version: env!("CARGO_PKG_VERSION"), on, what, value, unit }
    }

    /// For people.
    #[must_use]
    pub fn text(&self) -> String {
        format!("{} {} {} {:.2} {}", self.who, self.on, self.what, self.value, self.unit)
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
