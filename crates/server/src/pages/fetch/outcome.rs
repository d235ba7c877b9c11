//! How far a batch is, as one bar and the same in words.

use maud::{Markup, html};
use redrive_api::FetchBatch;
use redrive_model::Shown;

use super::super::icon;
use super::super::words::{bytes, number};

/// The width of the bar.
const WIDTH: u64 = 1_000;

/// What a batch is made of.
#[derive(Debug, Clone, Copy)]
pub(super) struct Outcome {
    pub(super) total: u64,
    pub(super) stored: u64,
    pub(super) failed: u64,
    pub(super) cancelled: u64,
    pub(super) bytes: u64,
}

impl Outcome {
    pub(super) const fn of(batch: &FetchBatch) -> Self {
        Self {
            total: batch.resources_total,
            stored: batch.resources_completed,
            failed: batch.resources_failed,
            cancelled: batch.resources_cancelled,
            bytes: batch.bytes,
        }
    }

    /// What has not ended.
    pub(super) const fn left(self) -> u64 {
        self.total.saturating_sub(self.stored + self.failed + self.cancelled)
    }

    /// Stored, failed and cancelled beside each other; what is left is the empty part. What can be seen at all is wide enough to be
    /// seen.
    pub(super) fn bar(self) -> Markup {
        let mut x = 0;
        let parts =
            [("good", self.stored), ("bad", self.failed), ("other", self.cancelled)].map(|(class, n)| {
                let width = match (n, self.total) {
                    (0, _) | (_, 0) => 0,
                    (n, total) => (n.saturating_mul(WIDTH) / total).max(6).min(WIDTH - x.min(WIDTH)),
                };
                let from = x;
                x += width;
                (class, from, width)
            });
        html! {
            svg.bar viewBox={ "0 0 " (WIDTH) " 10" } preserveAspectRatio="none" aria-hidden="true" {
                rect.track x="0" y="0" width=(WIDTH) height="10" {}
                @for (class, from, width) in parts {
                    @if width > 0 { rect.(class) x=(from) y="0" width=(width) height="10" {} }
                }
            }
        }
    }

    /// `9,900 of 10,000 stored (97 MB), 100 failed`.
    pub(super) fn words(self) -> Markup {
        html! {
            (number(self.stored)) " of " (number(self.total)) " stored"
            @if self.bytes > 0 { " (" (bytes(self.bytes)) ")" }
            @if self.failed > 0 { ", " strong.is-bad.toned { (number(self.failed)) " failed" } }
            @if self.cancelled > 0 { ", " (number(self.cancelled)) " cancelled" }
            @if self.left() > 0 { ", " (number(self.left())) " to go" }
        }
    }
}

/// The state of a batch as a shape and its word.
pub(super) fn state(status: &str) -> Markup {
    icon::state(shown(status))
}

/// The state of a batch, as the states of jobs are shown.
pub(super) fn shown(status: &str) -> Shown {
    match status {
        "complete" => Shown::Complete,
        "partial" => Shown::Partial,
        "failed" => Shown::Failed,
        "cancelled" => Shown::Cancelled,
        _ => Shown::Processing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_of_a_million_is_still_seen_and_nothing_goes_beyond_the_end() {
        let bar = |stored, failed, cancelled, total| {
            Outcome { total, stored, failed, cancelled, bytes: 0 }.bar().into_string()
        };
        let one = bar(999_999, 1, 0, 1_000_000);
        assert!(one.contains(r#"class="good" x="0" y="0" width="999""#), "{one}");
        assert!(one.contains(r#"class="bad" x="999" y="0" width="1""#), "{one}");
        assert!(bar(1, 1, 0, 1_000_000).contains(r#"class="bad" x="6" y="0" width="6""#));
        assert!(!bar(0, 0, 0, 0).contains("good"));
        assert!(!bar(5, 0, 0, 10).contains("bad"));
    }
}
