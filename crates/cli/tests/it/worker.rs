//! `redrive worker`.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use redrive_gateway::sample::hello;

use crate::postgres::Database;
use crate::process::run;
use crate::running::{Running, wait_for};

#[test]
fn on_sqlite_it_says_why_not() {
    let dir = tempfile::tempdir().unwrap();
    let output = run(&["worker", "--data-dir", dir.path().to_str().unwrap()]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), said.lines().count()), (Some(5), 1), "{said}");
    assert!(said.contains("SQLite") && said.contains("DATABASE_URL=postgres://"), "{said}");
}

#[test]
fn with_other_files_than_the_servers_it_claims_nothing() {
    let Some(database) = Database::new() else { return };
    let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let url = [("DATABASE_URL", database.url.as_str())];
    let mut early = worker(other.path(), &url);
    assert_eq!(early.ended(), Some(5));
    assert!(early.err().contains("start redrive serve once"), "{}", early.err());
    let server = Running::serve(dir.path(), &url);
    let mut lost = worker(other.path(), &url);
    assert_eq!(lost.ended(), Some(5));
    assert!(lost.err().contains("is not the folder that redrive serve uses"), "{}", lost.err());
    assert_eq!(server.operate(dir.path(), "GET", "/api/jobs").status, 200);
    let found = worker(dir.path(), &url);
    found.said("redrive worker on Postgres ");
    assert!(found.metrics().contains("redrive_store_up 1"));
    assert_eq!(found.stop(), Some(0));
}

#[test]
fn without_a_place_or_a_pool_that_manifests_may_name_it_claims_nothing() {
    let Some(database) = Database::new() else { return };
    let (dir, also) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let pools = dir.path().join("pools.toml");
    std::fs::write(&pools, "[proxy_pools]\neu = ['http://me:CANARY@127.0.0.1:9']\n").unwrap();
    let url = ("DATABASE_URL", database.url.as_str());
    let places = [url, ("FETCH_TO_ALSO", also.path().to_str().unwrap())];
    let with_pools =
        |command| ["--config", pools.to_str().unwrap(), command, "--data-dir", dir.path().to_str().unwrap()];
    let serve = [&with_pools("serve")[..], &["--listen", "127.0.0.1:0"]].concat();
    let server = Running::start(&serve, &places);
    server.said("redrive listening on ");
    let mut placeless = Running::start(&with_pools("worker"), &[url]);
    assert_eq!(placeless.ended(), Some(5));
    assert!(placeless.err().contains("give both the same FETCH_TO_ALSO"), "{}", placeless.err());
    let mut poolless = worker(dir.path(), &places);
    assert_eq!(poolless.ended(), Some(5));
    let said = poolless.err();
    assert!(said.contains("the proxy pool eu") && !said.contains("CANARY"), "{said}");
    let found = Running::start(&with_pools("worker"), &places);
    found.said("redrive worker on Postgres ");
    assert_eq!((found.stop(), server.stop()), (Some(0), Some(0)));
}

fn worker(data: &Path, settings: &[(&str, &str)]) -> Running {
    Running::start(&["worker", "--data-dir", data.to_str().unwrap()], settings)
}

/// A gateway that keeps its answers back until it may give them.
fn slow_gateway(open: Arc<AtomicBool>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let open = open.clone();
            std::thread::spawn(move || answer(stream, &open));
        }
    });
    url
}

fn answer(mut stream: std::net::TcpStream, open: &AtomicBool) {
    let (mut asked, mut piece) = (Vec::new(), [0; 4096]);
    while let Ok(n @ 1..) = stream.read(&mut piece) {
        asked.extend_from_slice(&piece[..n]);
        if asked.starts_with(b"GET") || asked.windows(4).any(|end| end == b"--\r\n") {
            break;
        }
    }
    let body =
        if asked.starts_with(b"GET") { r#"[{"name":"text","title":"Text"}]"# } else { "<text>made</text>" };
    while !asked.starts_with(b"GET") && !open.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(10));
    }
    let _ = write!(
        stream,
        "HTTP/1.1 200 OK\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
        body.len()
    );
}

#[test]
fn one_of_two_workers_is_killed_in_the_middle_and_each_job_is_complete_once() {
    const JOBS: usize = 24;
    let Some(database) = Database::new() else { return };
    let dir = tempfile::tempdir().unwrap();
    let open = Arc::new(AtomicBool::new(false));
    let gateway = slow_gateway(open.clone());
    let settings = [
        ("DATABASE_URL", database.url.as_str()),
        ("GATEWAY_URL", gateway.as_str()),
        ("WORKER_LEASE_TTL_SEC", "2"),
        ("WORKER_CONCURRENCY", "4"),
        ("RETRY_BASE_DELAY_MS", "10"),
        ("RETRY_JITTER_MAX_MS", "10"),
    ];
    let server = Running::serve(dir.path(), &settings);
    let mut workers = [worker(dir.path(), &settings), worker(dir.path(), &settings)];
    for worker in &workers {
        worker.said("redrive worker on ");
    }
    let ids: Vec<String> = (0..JOBS)
        .map(|n| {
            server.upload(dir.path(), "a.pdf", &[&hello()[..], format!("\n% {n}").as_bytes()].concat()).job()
        })
        .collect();
    // Everybody holds what it can, so the one that is killed holds something.
    wait_for("all three are at work", || {
        let active = |running: &Running| {
            let metrics = running.metrics();
            metrics.lines().any(|line| line == "redrive_jobs_active{workload=\"convert\"} 4").then_some(())
        };
        active(&server).and(active(&workers[0])).and(active(&workers[1]))
    });
    workers[0].signal("-KILL");
    workers[0].ended();
    open.store(true, Ordering::Relaxed);
    for id in &ids {
        wait_for("each is complete", || {
            let job = server.operate(dir.path(), "GET", &format!("/api/jobs/{id}")).json();
            assert_ne!(job["status"], "failed", "{job}");
            (job["status"] == "complete").then_some(())
        });
        let events = server.operate(dir.path(), "GET", &format!("/api/jobs/{id}/events")).json();
        let ends = events.as_array().unwrap().iter().filter(|event| event["type"] == "complete").count();
        assert_eq!(ends, 1, "{events}");
    }
    let metrics = [server.metrics(), workers[1].metrics()].concat();
    let reclaimed: f64 = metrics
        .lines()
        .filter_map(|line| line.strip_prefix("redrive_leases_reclaimed_total "))
        .map(|n| n.parse::<f64>().unwrap())
        .sum();
    assert!(reclaimed >= 4.0, "what the killed one held was taken back: {reclaimed}");
    let audit = server.operate(dir.path(), "GET", "/api/auditor").json();
    assert_eq!(audit["clean"], true, "{audit}");
    let [_, living] = workers;
    assert_eq!(living.stop(), Some(0));
}
