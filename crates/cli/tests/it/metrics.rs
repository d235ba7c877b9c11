//! What Prometheus reads from the real binary: every name of the contract, with labels from closed sets.

use std::collections::{BTreeMap, BTreeSet};

use redrive_gateway::sample::hello;

use crate::running::{Running, ask, wait_for};

/// The value of a line that begins so.
fn value(metrics: &str, begins: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(begins)).and_then(|rest| rest.trim().parse().ok())
}

/// Every series is in the table of `docs/operating.md`, with exactly the labels that stand there.
fn as_the_page_tells(metrics: &str) {
    let page =
        std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md")).unwrap();
    let quoted = |column: &str| column.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
    let mut told: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `redrive_")) {
        let columns: Vec<&str> = row.trim_matches('|').split('|').collect();
        let labels: BTreeSet<String> = quoted(columns[1]).into_iter().collect();
        told.extend(quoted(columns[0]).into_iter().map(|name| (name, labels.clone())));
    }
    for line in metrics.lines().filter(|line| line.starts_with("redrive_")) {
        let (series, _) = line.rsplit_once(' ').unwrap();
        let (name, labels) = series.split_once('{').unwrap_or((series, ""));
        let base = ["_seconds_bucket", "_seconds_sum", "_seconds_count"]
            .into_iter()
            .find_map(|end| name.strip_suffix(end).map(|base| format!("{base}_seconds")));
        let labels: BTreeSet<String> = labels
            .trim_end_matches('}')
            .split(',')
            .filter_map(|label| label.split_once('='))
            .map(|(label, _)| label.to_owned())
            .filter(|label| label != "le")
            .collect();
        assert_eq!(told.get(&base.unwrap_or_else(|| name.to_owned())), Some(&labels), "{line}");
    }
}

#[test]
fn every_name_of_the_contract_is_there_after_a_conversion() {
    let dir = tempfile::tempdir().unwrap();
    let server = Running::serve(dir.path(), &[]);
    let id = server.upload(dir.path(), "secret name.pdf", &hello()).job();
    let path = format!("/api/jobs/{id}");
    wait_for("it is converted", || {
        (server.operate(dir.path(), "GET", &path).json()["status"] == "complete").then_some(())
    });
    assert_eq!(server.upload(dir.path(), "odd \"name.pdf", b"no pdf").status, 400);
    let metrics = server.metrics();
    for (name, expected) in [
        ("redrive_jobs_created_total{workload=\"convert\"} ", 2.0),
        ("redrive_jobs_completed_total{workload=\"convert\"} ", 1.0),
        ("redrive_jobs_failed_total{workload=\"convert\",code=\"NOT_PDF\"} ", 1.0),
        ("redrive_manual_retry_total ", 0.0),
        ("redrive_queue_depth{workload=\"convert\",state=\"queued\"} ", 0.0),
        ("redrive_queue_depth{workload=\"convert\",state=\"waiting_retry\"} ", 0.0),
        ("redrive_queue_depth{workload=\"convert\",state=\"waiting_batch\"} ", 0.0),
        ("redrive_queue_oldest_age_seconds ", 0.0),
        ("redrive_queue_age_seconds{workload=\"convert\"} ", 0.0),
        ("redrive_queue_age_seconds{workload=\"fetch\"} ", 0.0),
        ("redrive_jobs_active{workload=\"convert\"} ", 0.0),
        ("redrive_job_processing_duration_seconds_count{workload=\"convert\"} ", 1.0),
        ("redrive_job_processing_duration_seconds_bucket{workload=\"convert\",le=\"+Inf\"} ", 1.0),
        ("redrive_gateway_latency_seconds_count ", 1.0),
        ("redrive_leases_reclaimed_total ", 0.0),
        ("redrive_stale_writes_rejected_total ", 0.0),
        ("redrive_dead_letters{workload=\"convert\"} ", 0.0),
        ("redrive_replay_jobs_total{outcome=\"complete\"} ", 0.0),
        ("redrive_store_up ", 1.0),
    ] {
        assert_eq!(value(&metrics, name), Some(expected), "{name}\n{metrics}");
    }
    assert!(value(&metrics, "redrive_disk_free_bytes ").unwrap() > 0.0);
    as_the_page_tells(&metrics);
    for private in ["name.pdf", id.as_str(), "operator", "s:"] {
        assert!(!metrics.contains(private), "{private} is in\n{metrics}");
    }
    // They are on a listener of their own.
    assert_eq!(server.ask("GET", "/metrics", &[], b"").status, 404);
    let url = server.said("metrics  http://");
    let (address, _) = url.split_once('/').unwrap();
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    for path in ["/", "/api/jobs", "/api/status"] {
        assert_eq!(ask(address, "GET", path, &[], b"").status, 404, "{path}");
    }
}

#[test]
fn retries_dead_letters_and_an_open_breaker_are_counted() {
    let dir = tempfile::tempdir().unwrap();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let gateway = format!("http://{}", closed.local_addr().unwrap());
    drop(closed);
    let settings = [
        ("GATEWAY_URL", gateway.as_str()),
        ("RETRY_BASE_DELAY_MS", "1"),
        ("RETRY_JITTER_MAX_MS", "1"),
        ("RETRY_MAX_ATTEMPTS", "2"),
        ("CIRCUIT_COOLDOWN_MS", "1100"),
    ];
    let server = Running::serve(dir.path(), &settings);
    for n in 0..6 {
        let pdf = [&hello()[..], format!("\n% {n}").as_bytes()].concat();
        assert_eq!(server.upload(dir.path(), "a.pdf", &pdf).status, 201);
    }
    let retried = wait_for("a retry", || {
        let metrics = server.metrics();
        metrics.contains("redrive_jobs_retries_total{workload=\"convert\",code=\"GW_").then_some(metrics)
    });
    let codes: Vec<&str> = retried
        .lines()
        .filter_map(|line| line.strip_prefix("redrive_jobs_retries_total{workload=\"convert\",code=\""))
        .map(|rest| rest.split('"').next().unwrap())
        .collect();
    assert!(codes.iter().all(|code| redrive_model::Code::parse(code).is_some()), "{codes:?}");
    wait_for("the breaker opens", || {
        value(&server.metrics(), "redrive_breaker_state{target=\"gateway\"} ").filter(|state| *state > 0.0)
    });
    wait_for("somebody has tried", || {
        value(&server.metrics(), "redrive_breaker_open_seconds_total{target=\"gateway\"} ")
            .filter(|s| *s >= 1.0)
    });
    let metrics = server.metrics();
    let held = value(&metrics, "redrive_queue_depth{workload=\"convert\",state=\"held\"} ").unwrap();
    let dead = value(&metrics, "redrive_dead_letters{workload=\"convert\"} ").unwrap();
    assert!(held + dead >= 1.0, "{metrics}");
    as_the_page_tells(&metrics);
}

#[test]
fn a_port_that_is_taken_is_a_warning_and_another_port() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let wanted = taken.local_addr().unwrap().to_string();
    let dir = tempfile::tempdir().unwrap();
    let server = Running::serve(dir.path(), &[("METRICS_LISTEN", &wanted)]);
    assert!(server.metrics().contains("redrive_store_up 1"));
    assert_ne!(server.said("metrics  http://"), format!("{wanted}/metrics"));
    let said = server.err();
    assert!(said.contains(&format!("METRICS_LISTEN {wanted} is in use")), "{said}");
}
