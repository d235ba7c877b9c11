//! The charts of the overview, each with the same numbers as a table and the lists behind them.

use std::time::Duration;

use maud::{Markup, html};
use redrive_api::{CodeFailures, Overview, WorkloadDepth};
use url::form_urlencoded::Serializer;

use super::super::words::{count, number, span, time};
use super::chart::{bars, key, lying, steps};
use super::groups::what;

/// So many codes are drawn; the table has them all.
const CODES: usize = 6;

/// How much was done, and how much of it went wrong.
pub(super) fn throughput(all: &Overview) -> Markup {
    let parts = all
        .slots
        .iter()
        .map(|slot| vec![("good", slot.complete), ("delayed", slot.retried), ("bad", slot.failed)]);
    let parts: Vec<_> = parts.collect();
    let highest = parts.iter().map(|parts| parts.iter().map(|(_, n)| n).sum::<u64>()).max().unwrap_or(0);
    let of = |pick: fn(&redrive_api::OverviewSlot) -> u64| all.slots.iter().map(pick).sum::<u64>();
    let (complete, failed) = (of(|slot| slot.complete), of(|slot| slot.failed));
    let rows =
        all.slots.iter().rev().filter(|slot| slot.arrived + slot.complete + slot.retried + slot.failed > 0);
    panel(
        "Throughput",
        html! {
            p.keys { (key("good", "complete")) (key("delayed", "failed, tried again")) (key("bad", "given up")) }
            (bars(&parts))
            (ends(all, &format!("the tallest has {}", number(highest))))
            @if all.behind > 10_000 { p.fine { (number(all.behind)) " events are not counted yet." } }
            p.lists {
                a href=(ended("complete", None, None, all)) { (count_of(complete, "complete")) } " "
                a href=(jobs("waiting_retry", None)) { "Waiting to retry" } " "
                a href=(ended("failed", None, None, all)) { (count_of(failed, "given up")) }
            }
            details.table-throughput {
                summary { "The same as a table" }
                (scroll("Throughput", html! {
                    table.plain-table {
                        thead { tr {
                            th scope="col" { "From" } th.num scope="col" { "Arrived" } th.num scope="col" { "Complete" }
                            th.num scope="col" { "Tried again" } th.num scope="col" { "Given up" }
                        } }
                        tbody {
                            @for slot in rows {
                                tr {
                                    th scope="row" { (time(slot.from)) }
                                    td.num { (number(slot.arrived)) } td.num { (number(slot.complete)) }
                                    td.num { (number(slot.retried)) } td.num { (number(slot.failed)) }
                                }
                            }
                        }
                    }
                }))
            }
        },
    )
}

/// What went wrong, by code.
pub(super) fn failures(all: &Overview) -> Markup {
    let lately = |of: &&CodeFailures| of.retried + of.failed > 0;
    let longest = all.failures.iter().map(|of| of.retried + of.failed).max().unwrap_or(0);
    panel(
        "Failures by code",
        html! {
            @if all.failures.iter().any(|of| lately(&of)) {
                p.keys { (key("delayed", "tried again")) (key("bad", "given up")) }
                ul.lying {
                    @for of in all.failures.iter().filter(lately).take(CODES) {
                        li {
                            span.ends { a href=(dead(&of.code)) { (what(&of.code)) } span.num { (number(of.retried + of.failed)) } }
                            (lying(&[("delayed", of.retried), ("bad", of.failed)], longest))
                        }
                    }
                }
            } @else { p.fine { "Nothing failed." } }
            @if !all.failures.is_empty() {
                details.table-failures {
                    summary { "The same as a table" }
                    (scroll("Failures by code", html! {
                        table.plain-table {
                            thead { tr {
                                th scope="col" { "Code" } th.num scope="col" { "Tried again" } th.num scope="col" { "Given up" }
                                th.num scope="col" { "Waiting now" }
                            } }
                            tbody {
                                @for of in &all.failures {
                                    tr {
                                        th scope="row" { a href={ "/failures/" (of.code) } { (of.code) } }
                                        td.num { (number(of.retried)) }
                                        td.num { a href=(ended("failed", None, Some(&of.code), all)) { (number(of.failed)) } }
                                        td.num { a href=(dead(&of.code)) { (number(of.waiting)) } }
                                    }
                                }
                            }
                        }
                    }))
                }
            }
        },
    )
}

/// How long completed attempts took.
pub(super) fn latency(all: &Overview) -> Markup {
    let lines = [
        ("p95", all.slots.iter().map(|slot| slot.p95_ms).collect::<Vec<_>>()),
        ("p50", all.slots.iter().map(|slot| slot.p50_ms).collect()),
    ];
    let highest = all.slots.iter().filter_map(|slot| slot.p95_ms).max();
    panel(
        "How long attempts took",
        html! {
            @match highest {
                None => { p.fine { "No attempt was completed." } }
                Some(highest) => {
                    p.keys { (key("p50", "half took no longer")) (key("p95", "95 of 100 took no longer")) }
                    (steps(&lines))
                    (ends(all, &format!("the top is {}", took(highest))))
                    table.plain-table.stacks {
                        thead { tr {
                            th scope="col" { "Kind of job" } th.num scope="col" { "Attempts" } th.num scope="col" { "50 %" }
                            th.num scope="col" { "95 %" } th.num scope="col" { "99 %" }
                        } }
                        tbody {
                            @for of in &all.latencies {
                                tr {
                                    th scope="row" { a href=(ended("complete", Some(&of.workload), None, all)) { (of.workload) } }
                                    td.num data-of="Attempts" { (number(of.attempts)) } td.num data-of="50 %" { (took(of.p50_ms)) }
                                    td.num data-of="95 %" { (took(of.p95_ms)) } td.num data-of="99 %" { (took(of.p99_ms)) }
                                }
                            }
                        }
                    }
                    p.fine { "From all completed attempts, counted in steps: accurate to about a third." }
                    details.table-latency {
                        summary { "The chart as a table" }
                        (scroll("How long attempts took", html! {
                            table.plain-table {
                                thead { tr { th scope="col" { "From" } th.num scope="col" { "50 %" } th.num scope="col" { "95 %" } } }
                                tbody {
                                    @for slot in all.slots.iter().rev() {
                                        @if let (Some(p50), Some(p95)) = (slot.p50_ms, slot.p95_ms) {
                                            tr { th scope="row" { (time(slot.from)) } td.num { (took(p50)) } td.num { (took(p95)) } }
                                        }
                                    }
                                }
                            }
                        }))
                    }
                }
            }
        },
    )
}

/// What waits and runs now, and how old the oldest is.
pub(super) fn depth(all: &Overview) -> Markup {
    let total = |of: &WorkloadDepth| {
        of.queued + of.processing + of.waiting_retry + of.scheduled + of.waiting_batch + of.held
    };
    let longest = all.queues.iter().map(total).max().unwrap_or(0);
    let old = |of: &WorkloadDepth| of.oldest_age_ms.map_or_else(|| "–".to_owned(), took);
    let cell = |of: &WorkloadDepth, status: &str, n: u64| {
        html! { td.num { @if n > 0 { a href=(jobs(status, Some(&of.workload))) { (number(n)) } } @else { "0" } } }
    };
    panel(
        "Depth now",
        html! {
            @if all.queues.is_empty() { p.fine { "Nothing waits and nothing runs." } } @else {
                p.keys {
                    (key("running", "running")) (key("other", "ready to run")) (key("delayed", "waits to retry, for its time or for its parts"))
                    (key("bad", "held"))
                }
                ul.lying {
                    @for of in &all.queues {
                        li {
                            span.ends {
                                a href=(jobs("queued,processing,waiting_retry,scheduled,waiting_batch,held", Some(&of.workload))) { (of.workload) }
                                span.num {
                                    (number(total(of)))
                                    @if of.oldest_age_ms.is_some() { " · oldest " (old(of)) }
                                }
                            }
                            (lying(&[("running", of.processing), ("other", of.queued), ("delayed", of.waiting_retry + of.scheduled + of.waiting_batch), ("bad", of.held)], longest))
                        }
                    }
                }
                details.table-depth {
                    summary { "The same as a table" }
                    (scroll("Depth now", html! {
                        table.plain-table {
                            thead { tr {
                                th scope="col" { "Kind of job" } th.num scope="col" { "Running" } th.num scope="col" { "Ready to run" }
                                th.num scope="col" { "Waiting to retry" } th.num scope="col" { "Scheduled" }
                                th.num scope="col" { "Waiting for parts" } th.num scope="col" { "Held" }
                                th.num scope="col" { "Oldest" }
                            } }
                            tbody {
                                @for of in &all.queues {
                                    tr {
                                        th scope="row" { (of.workload) @if of.capped { " " span.fine { "at least" } } }
                                        (cell(of, "processing", of.processing)) (cell(of, "queued", of.queued))
                                        (cell(of, "waiting_retry", of.waiting_retry)) (cell(of, "scheduled", of.scheduled))
                                        (cell(of, "waiting_batch", of.waiting_batch))
                                        (cell(of, "held", of.held)) td.num { (old(of)) }
                                    }
                                }
                            }
                        }
                    }))
                }
            }
        },
    )
}

/// Targets that are not well.
pub(super) fn targets(all: &Overview) -> Markup {
    panel(
        "Targets",
        html! {
            @if all.breakers.is_empty() { p { strong.toned.is-good { "Every target answers." } } } @else {
                table.plain-table.stacks {
                    thead { tr { th scope="col" { "Target" } th scope="col" { "How it is" } th.num scope="col" { "Waiting" } } }
                    tbody {
                        @for breaker in &all.breakers {
                            tr {
                                th scope="row" { bdi { (breaker.target) } }
                                td { (super::breakers::word(&breaker.state)) p.fine { "since " (time(breaker.since)) } }
                                td.num data-of="Waiting" { (super::breakers::waiting(breaker)) }
                            }
                        }
                    }
                }
            }
            p.lists { a href="/breakers" { "All targets and what they did" } }
        },
    )
}

/// Who works, and how busy they are.
pub(super) fn workers(all: &Overview) -> Markup {
    let workers = &all.workers;
    panel(
        "Workers",
        html! {
            ul.lying {
                li {
                    span.ends { span { "Jobs that they run now" } span.num { (number(workers.leases)) " of " (number(workers.places)) } }
                    (lying(&[("running", workers.leases)], workers.places))
                }
            }
            p {
                (count(workers.alive, "worker takes", "workers take")) " work"
                @if workers.draining > 0 { ", " (number(workers.draining)) " draining" }
                @if workers.gone > 0 { ", " (number(workers.gone)) " gone" }
                "."
            }
            p.lists { a href="/workers" { "All workers" } }
        },
    )
}

fn panel(title: &str, body: Markup) -> Markup {
    html! { section.panel aria-label=(title) { h2 { (title) } (body) } }
}

/// A table that may be wider than a phone.
fn scroll(name: &str, table: Markup) -> Markup {
    html! { div.scroll tabindex="0" role="region" aria-label={ (name) " as a table" } { (table) } }
}

/// What is at both ends of a chart, and what its height means.
fn ends(all: &Overview, height: &str) -> Markup {
    let step = span(Duration::from_secs(u64::from(all.slot_seconds)));
    html! {
        p.fine.ends {
            @if let Some(first) = all.slots.first() { span { (time(first.from)) } }
            span { "Each place is " (step) "; " (height) }
            span { "now" }
        }
    }
}

fn took(ms: u64) -> String {
    span(Duration::from_millis(ms))
}

fn count_of(n: u64, words: &str) -> String {
    format!("{} {words}", number(n))
}

/// The jobs that are in these states now.
pub(super) fn jobs(status: &str, workload: Option<&str>) -> String {
    list(&[("workload", workload), ("status", Some(status))])
}

/// The jobs that ended so within the window.
pub(super) fn ended(status: &str, workload: Option<&str>, code: Option<&str>, all: &Overview) -> String {
    let since = all.slots.first().map(|slot| slot.from.to_string());
    list(&[
        ("workload", workload),
        ("status", Some(status)),
        ("code", code),
        ("ended_since", since.as_deref()),
    ])
}

/// Numbers count members of batches too; of a kind that there is only in batches they are listed anyway.
fn list(asked: &[(&str, Option<&str>)]) -> String {
    let mut query = Serializer::new(String::new());
    for (name, value) in asked {
        if let Some(value) = value {
            query.append_pair(name, value);
        }
    }
    if !asked.iter().any(|(name, value)| *name == "workload" && value.is_some()) {
        query.append_pair("members", "true");
    }
    format!("/jobs?{}", query.finish())
}

/// The causes with this code.
fn dead(code: &str) -> String {
    format!("/dead?code={code}")
}
