//! Whom the rest of a batch waits for: hosts, buckets and proxies, each with how it is.

use std::collections::BTreeMap;

use maud::{Markup, html};
use redrive_api::Breaker;
use redrive_model::{Shown, Target, Timestamp};
use redrive_store::JobRow;

use super::super::words::{countdown, number};

/// At most so many are told.
const TOLD: usize = 20;

/// What is known of one of them.
#[derive(Debug, Default, Clone, Copy)]
struct Waiting {
    running: u64,
    waiting: u64,
}

/// Those that some of the unfinished resources need. They are looked at, not all counted.
pub(super) struct Hosts {
    of: Vec<(Target, Waiting)>,
    looked_at: usize,
    /// There are more than were looked at.
    more: bool,
}

impl Hosts {
    /// From these unfinished members.
    pub(super) fn of(rows: &[JobRow], more: bool) -> Self {
        let mut of: BTreeMap<Target, Waiting> = BTreeMap::new();
        for row in rows {
            for target in row.targets.iter() {
                let waiting = of.entry(target.clone()).or_default();
                match row.shown {
                    Shown::Processing => waiting.running += 1,
                    _ => waiting.waiting += 1,
                }
            }
        }
        let mut of: Vec<_> = of.into_iter().collect();
        of.sort_by_key(|(target, waiting)| {
            (std::cmp::Reverse(waiting.waiting + waiting.running), target.clone())
        });
        Self { of, looked_at: rows.len(), more }
    }

    pub(super) fn section(&self, breakers: &[Breaker], now: Timestamp) -> Markup {
        if self.of.is_empty() {
            return html! {};
        }
        let state = |target: &Target| breakers.iter().find(|breaker| breaker.target == target.as_str());
        html! {
            h2 { "Hosts and proxies" }
            table.plain-table.stacks role="table" {
                thead role="rowgroup" {
                    tr role="row" {
                        th role="columnheader" scope="col" { "Who" }
                        th role="columnheader" scope="col" { "How it is" }
                        th.num role="columnheader" scope="col" { "Asked now" }
                        th.num role="columnheader" scope="col" { "Waiting" }
                    }
                }
                tbody role="rowgroup" {
                    @for (target, waiting) in self.of.iter().take(TOLD) {
                        tr role="row" {
                            th role="rowheader" scope="row" { bdi { (name(target)) } }
                            td role="cell" { (how(state(target), now)) }
                            td.num role="cell" data-of="Asked now" { (number(waiting.running)) }
                            td.num role="cell" data-of="Waiting" { (number(waiting.waiting)) }
                        }
                    }
                }
            }
            @if self.more { p.fine { "Of the " (number(self.looked_at as u64)) " resources that were looked at; there are more." } }
            @if self.of.len() > TOLD { p.fine { "And " (number((self.of.len() - TOLD) as u64)) " more." } }
        }
    }
}

/// `host:example.com:443` is a host, `proxies:eu` is a pool.
fn name(target: &Target) -> String {
    match target.as_str().split_once(':') {
        Some(("host", host)) => host.to_owned(),
        Some(("proxies", pool)) => format!("proxies {pool}"),
        Some(("bucket", bucket)) => format!("bucket {bucket}"),
        _ => target.to_string(),
    }
}

fn how(breaker: Option<&Breaker>, now: Timestamp) -> Markup {
    // Nobody has noted anything about it, good or bad.
    let Some(breaker) = breaker else { return html! { span.fine { "no trouble so far" } } };
    let words = match breaker.state.as_str() {
        "held" => "held by an operator",
        "throttled" => "asked us to wait",
        "open" => "does not answer well; nothing is lost meanwhile",
        "half_open" => "one resource is testing it",
        "ramp" => "answers again; a few at a time",
        _ => return html! { span.is-good.toned { "answers" } },
    };
    html! {
        span.is-delayed.toned { (words) }
        @if let Some(at) = breaker.next_probe_at.filter(|at| *at > now) { ", next try " (countdown(at, now)) }
    }
}
