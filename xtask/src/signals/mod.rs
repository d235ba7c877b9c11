//! Dashboard and alerts speak of what the program exports, and every alert leads to a section of the runbook.
//!
//! The table of metrics in `docs/operating.md` stands in the middle: here it is compared with the names in the sources and with
//! every query; a test of the command compares it, labels included, with what a real process tells.

mod alerts;
mod anchors;
mod dashboard;
mod query;
mod table;

use std::collections::BTreeSet;

use anyhow::{Context, Result};

use crate::problem::Problem;
use crate::repo::Repo;
use table::Metrics;

const DASHBOARD: &str = "deploy/grafana/redrive.json";
const ALERTS: &str = "deploy/prometheus/alerts.yml";
const RUNBOOK: &str = "docs/runbook.md";
const TABLE: &str = "docs/operating.md";

/// What users were promised to find, under these names. The dashboard keeps to them.
const PROMISED: [&str; 18] = [
    "redrive_jobs_created_total",
    "redrive_jobs_completed_total",
    "redrive_jobs_failed_total",
    "redrive_jobs_retries_total",
    "redrive_manual_retry_total",
    "redrive_queue_depth",
    "redrive_queue_age_seconds",
    "redrive_queue_oldest_age_seconds",
    "redrive_jobs_active",
    "redrive_job_processing_duration_seconds",
    "redrive_gateway_latency_seconds",
    "redrive_breaker_state",
    "redrive_breaker_open_seconds_total",
    "redrive_leases_reclaimed_total",
    "redrive_stale_writes_rejected_total",
    "redrive_dead_letters",
    "redrive_replay_jobs_total",
    "redrive_disk_free_bytes",
];

/// Finds metrics that are not in the table or not in the sources, queries that name none of them, and alerts that lead nowhere.
pub(crate) fn check(repo: &Repo) -> Result<Vec<Problem>> {
    let metrics = Metrics::read(&text(repo, TABLE)?);
    let mut problems = same(&metrics, &table::exported(repo)?);
    for panel in dashboard::queries(&text(repo, DASHBOARD)?)? {
        let mut wrong = metrics.wrong_in(&panel.query);
        let kept = |name: &&String| PROMISED.contains(&table::base(name));
        wrong.extend(
            query::read(&panel.query)
                .metrics
                .iter()
                .map(|metric| &metric.name)
                .filter(|name| !kept(name))
                .map(|name| format!("{name} was not promised to users")),
        );
        problems.extend(
            wrong
                .into_iter()
                .map(|what| Problem::at(DASHBOARD, format!("panel \"{}\": {what}", panel.title))),
        );
    }
    let anchors = anchors::of(&text(repo, RUNBOOK)?);
    for alert in alerts::read(&text(repo, ALERTS)?) {
        let mut wrong = metrics.wrong_in(&alert.expr);
        wrong.extend(alert.lacks().into_iter().map(|field| format!("has no {field}")));
        let anchor = alert.runbook.strip_prefix(RUNBOOK).and_then(|rest| rest.strip_prefix('#'));
        if !anchor.is_some_and(|anchor| anchors.contains(anchor)) {
            wrong.push(format!("leads to {:?}, and there is no such section of {RUNBOOK}", alert.runbook));
        }
        problems.extend(wrong.into_iter().map(|what| Problem::at(ALERTS, format!("{}: {what}", alert.name))));
    }
    Ok(problems)
}

/// The table has what the sources count, and nothing else; and nothing that was promised is missing.
fn same(metrics: &Metrics, exported: &BTreeSet<String>) -> Vec<Problem> {
    let told: BTreeSet<String> = metrics.names().map(str::to_owned).collect();
    let untold = exported.difference(&told).map(|name| format!("{name} is counted, but not in the table"));
    let gone = told.difference(exported).map(|name| format!("{name} is in the table, but nobody counts it"));
    let broken = PROMISED
        .iter()
        .filter(|name| !exported.contains(**name))
        .map(|name| format!("{name} was promised, and nobody counts it"));
    untold.chain(gone).chain(broken).map(|what| Problem::at(TABLE, what)).collect()
}

fn text(repo: &Repo, path: &str) -> Result<String> {
    repo.read(path)?.with_context(|| format!("{path} is not there"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::assert_none;
    use crate::repo::Scratch;

    #[test]
    fn dashboard_and_alerts_speak_of_what_is_exported_and_lead_to_the_runbook() {
        let repo = Repo::here().unwrap();
        assert_none(&check(&repo).unwrap());
        let alerts = alerts::read(&text(&repo, ALERTS).unwrap());
        let panels = dashboard::queries(&text(&repo, DASHBOARD).unwrap()).unwrap();
        assert!(
            alerts.len() >= 15 && panels.len() >= 20,
            "{} alerts, {} queries",
            alerts.len(),
            panels.len()
        );
        // Whatever was promised is looked at somewhere.
        let seen: BTreeSet<String> = panels
            .iter()
            .flat_map(|panel| query::read(&panel.query).metrics)
            .map(|metric| table::base(&metric.name).to_owned())
            .collect();
        let unseen: Vec<&str> = PROMISED.into_iter().filter(|name| !seen.contains(*name)).collect();
        assert!(unseen.is_empty(), "no panel shows {unseen:?}");
    }

    #[test]
    fn what_is_wrong_is_found_and_named() {
        let repo = Scratch::new("signals");
        let put = |path: &str, text: &str| repo.write_if_changed(path, text).unwrap();
        put("crates/a/src/lib.rs", "metrics::counter!(\"redrive_odd_total\").increment(1);");
        put(TABLE, "| `redrive_jobs_active` | `workload` | running |\n");
        put(RUNBOOK, "# Runbook\n\n## Leases stuck\n");
        put(DASHBOARD, r#"{"panels": [{"title": "P", "targets": [{"expr": "sum(redrive_jobs_actve)"}]}]}"#);
        put(
            ALERTS,
            "      - alert: A\n        expr: redrive_jobs_active{code=\"X\"} > 0\n          summary: \"s\"\n          runbook_url: docs/runbook.md#leases\n",
        );
        let lines: Vec<String> = check(&repo).unwrap().iter().map(ToString::to_string).collect();
        for wanted in [
            "docs/operating.md: redrive_odd_total is counted, but not in the table",
            "docs/operating.md: redrive_jobs_active is in the table, but nobody counts it",
            "docs/operating.md: redrive_dead_letters was promised, and nobody counts it",
            "deploy/grafana/redrive.json: panel \"P\": redrive_jobs_actve is not exported",
            "deploy/prometheus/alerts.yml: A: redrive_jobs_active has no label code",
            "deploy/prometheus/alerts.yml: A: has no description",
            "deploy/prometheus/alerts.yml: A: leads to \"docs/runbook.md#leases\", and there is no such section of docs/runbook.md",
        ] {
            assert!(lines.iter().any(|line| line == wanted), "{wanted}\n{lines:#?}");
        }
    }
}
