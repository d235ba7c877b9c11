//! What went wrong in a batch: by code, and over time as stacked bars with the same in a table.

use std::collections::BTreeMap;
use std::time::Duration;

use maud::{Markup, html};
use redrive_model::{Code, Timestamp, instant};
use redrive_store::BatchFailures;

use super::super::words::{number, span, time};

/// At most so many bars.
const BARS: i64 = 48;
const MINUTE: i64 = 60_000;
/// Height and width of a bar's place.
const HEIGHT: u64 = 100;
const WIDTH: u64 = 20;
/// So many codes have a colour of their own; the others share one.
const COLOURS: usize = 5;

/// Everything that failed.
pub(super) struct Failures {
    /// The most frequent code first.
    codes: Vec<(Code, u64)>,
    bars: Vec<Bar>,
    /// How long one bar is.
    step: i64,
}

struct Bar {
    from: Timestamp,
    /// In the order of the codes.
    counts: Vec<u64>,
}

impl Failures {
    pub(super) fn of(rows: &[BatchFailures]) -> Self {
        let mut codes: BTreeMap<Code, u64> = BTreeMap::new();
        for row in rows {
            *codes.entry(row.code.public()).or_default() += row.jobs;
        }
        let mut codes: Vec<_> = codes.into_iter().collect();
        codes.sort_by_key(|(code, jobs)| (std::cmp::Reverse(*jobs), code.name()));
        let (step, bars) = bars(rows, &codes);
        Self { codes, bars, step }
    }

    /// Nothing where nothing failed.
    pub(super) fn section(&self, address: &str) -> Markup {
        if self.codes.is_empty() {
            return html! {};
        }
        html! {
            h2 { "What failed" }
            table.plain-table.stacks role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th role="columnheader" scope="col" { "Code" }
                        th role="columnheader" scope="col" { "What happened" }
                        th.num role="columnheader" scope="col" { "Resources" }
                    }
                }
                tbody role="rowgroup" {
                    @for (n, (code, jobs)) in self.codes.iter().enumerate() {
                        tr role="row" {
                            th role="rowheader" scope="row" {
                                svg.key viewBox="0 0 10 10" width="12" height="12" aria-hidden="true" {
                                    rect.(colour(n)) width="10" height="10" {}
                                }
                                " " a href={ "/failures/" (code.name()) } { (code.name()) }
                            }
                            td role="cell" { (code.entry().what_happened) }
                            td.num role="cell" data-of="Resources" { a href={ (address) "?status=failed&code=" (code.name()) } { (number(*jobs)) } }
                        }
                    }
                }
            }
            @if self.bars.len() > 1 { (self.chart()) }
        }
    }

    fn chart(&self) -> Markup {
        let tallest = self.bars.iter().map(|bar| bar.counts.iter().sum::<u64>()).max().unwrap_or(1).max(1);
        let step = span(Duration::from_millis(self.step.unsigned_abs()));
        html! {
            h3 { "Over time" }
            svg.chart viewBox={ "0 0 " (WIDTH * self.bars.len() as u64) " " (HEIGHT) } preserveAspectRatio="none" aria-hidden="true" {
                @for (n, bar) in self.bars.iter().enumerate() {
                    @for (class, y, height) in bar.pieces(tallest) {
                        rect.(class) x=(WIDTH * n as u64 + 2) y=(y) width=(WIDTH - 4) height=(height) {}
                    }
                }
            }
            p.fine.ends {
                @if let (Some(first), Some(last)) = (self.bars.first(), self.bars.last()) {
                    span { (time(first.from)) }
                    span { "Each bar is " (step) "; the tallest has " (number(tallest)) "." }
                    span { (time(last.from)) }
                }
            }
            details.as-table {
                summary { "The same as a table" }
                div.scroll tabindex="0" role="region" aria-label="Failures over time" {
                    table.plain-table {
                        thead {
                            tr {
                                th scope="col" { "From" }
                                @for (code, _) in &self.codes { th.num scope="col" { (code.name()) } }
                            }
                        }
                        tbody {
                            @for bar in self.bars.iter().filter(|bar| bar.counts.iter().any(|n| *n > 0)) {
                                tr {
                                    th scope="row" { (time(bar.from)) }
                                    @for n in &bar.counts { td.num { (number(*n)) } }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

impl Bar {
    /// Its pieces from the bottom up.
    fn pieces(&self, tallest: u64) -> Vec<(&'static str, u64, u64)> {
        let mut top = HEIGHT;
        let counts = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        counts
            .map(|(n, count)| {
                let height = (count.saturating_mul(HEIGHT) / tallest).max(2).min(top);
                top -= height;
                (colour(n), top, height)
            })
            .collect()
    }
}

/// Bars of one length, as few as it takes, from the first failure to the last.
fn bars(rows: &[BatchFailures], codes: &[(Code, u64)]) -> (i64, Vec<Bar>) {
    let at = |row: &BatchFailures| instant::to_millis(row.minute);
    let (Some(first), Some(last)) = (rows.iter().map(at).min(), rows.iter().map(at).max()) else {
        return (MINUTE, Vec::new());
    };
    let minutes = (last - first) / MINUTE + 1;
    let step = minutes.div_euclid(BARS).max(0) + i64::from(minutes % BARS > 0);
    let step = step.max(1) * MINUTE;
    let count = usize::try_from((last - first) / step + 1).unwrap_or(1);
    let mut bars: Vec<Bar> = (0..count)
        .map(|n| Bar {
            from: instant::from_millis(first + step * i64::try_from(n).unwrap_or(0)),
            counts: vec![0; codes.len()],
        })
        .collect();
    for row in rows {
        let bar = usize::try_from((at(row) - first) / step).ok().and_then(|n| bars.get_mut(n));
        let code = codes.iter().position(|(code, _)| *code == row.code.public());
        if let Some(count) = bar.zip(code).and_then(|(bar, code)| bar.counts.get_mut(code)) {
            *count += row.jobs;
        }
    }
    (step, bars)
}

const fn colour(n: usize) -> &'static str {
    const NAMES: [&str; COLOURS + 1] = ["c0", "c1", "c2", "c3", "c4", "c5"];
    match n {
        0 => NAMES[0],
        1 => NAMES[1],
        2 => NAMES[2],
        3 => NAMES[3],
        4 => NAMES[4],
        _ => NAMES[5],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(minute: i64, code: Code, jobs: u64) -> BatchFailures {
        BatchFailures { minute: instant::from_millis(minute * MINUTE), code, jobs }
    }

    #[test]
    fn every_failure_is_in_one_bar_however_long_it_took() {
        for minutes in [1, 2, 47, 48, 49, 96, 97, 2_880, 100_000] {
            let rows: Vec<_> = (0..minutes)
                .flat_map(|n| [row(n, Code::DownloadTimeout, 2), row(n, Code::DownloadHttp4xx, 1)])
                .collect();
            let failures = Failures::of(&rows);
            assert_eq!(failures.codes.first().map(|(code, _)| *code), Some(Code::DownloadTimeout));
            assert!(failures.bars.len() as i64 <= BARS, "{minutes}: {}", failures.bars.len());
            let told: u64 = failures.bars.iter().flat_map(|bar| &bar.counts).sum();
            assert_eq!(told, 3 * minutes.unsigned_abs(), "{minutes}");
        }
        assert!(Failures::of(&[]).section("/fetch/x").into_string().is_empty());
    }

    #[test]
    fn pieces_stand_on_each_other_within_the_height() {
        let bar = Bar { from: instant::from_millis(0), counts: vec![50, 0, 1, 49] };
        let pieces = bar.pieces(100);
        assert_eq!(pieces, [("c0", 50, 50), ("c2", 48, 2), ("c3", 0, 48)]);
    }
}
