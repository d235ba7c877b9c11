//! Looks at the desk again and again: how long each look takes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};

use crate::bench::figure::Figure;
use crate::bench::measure::percentile;
use crate::bench::server::Server;

/// What is promised of every look.
const PROMISE_MS: f64 = 300.0;

/// What operators look at: pages, what they are made from, and lists that are narrowed or gone far into.
const LOOKS: [&str; 21] = [
    "/overview",
    "/overview?window=24h",
    "/api/overview?window=24h",
    "/jobs",
    "/jobs?status=failed",
    "/jobs?status=complete&workload=convert",
    "/jobs?code=GW_TIMEOUT",
    "/jobs?q=invoice-0500000",
    "/jobs?q=nowhere-to-be-found",
    "/api/jobs?limit=200",
    "/api/jobs?status=failed&code=GW_5XX&limit=200",
    "/dead",
    "/jobs/replay?workload=convert&status=failed&code=GW_TIMEOUT",
    "/api/dead-letters?limit=200",
    "/api/dead-letters?code=GW_4XX&workload=convert",
    "/api/groups",
    "/replays",
    "/api/replays",
    "/breakers",
    "/workers",
    "/audit",
];

/// Each of them so often, in turn.
pub async fn run(server: &Server, token: &str, times: usize) -> Result<Vec<Figure>> {
    let cause = format!("/dead/{}", a_cause(server, token).await?);
    let looks: Vec<&str> = LOOKS.into_iter().chain([cause.as_str()]).collect();
    let mut waits: Vec<Vec<Duration>> = vec![Vec::with_capacity(times); looks.len()];
    for _ in 0..times {
        for (path, waits) in looks.iter().zip(&mut waits) {
            let head = format!("GET {path} HTTP/1.1\r\nauthorization: Bearer {token}");
            let began = Instant::now();
            let (status, answer) = server.ask(&head, b"").await?;
            waits.push(began.elapsed());
            ensure!(status == 200, "{path}: {}", answer.lines().next().unwrap_or_default());
        }
    }
    let ms = |waits: &Vec<Duration>, percent| percentile(waits.clone(), percent).as_secs_f64() * 1_000.0;
    let figure = |what: String, value, at_most| Figure { what, value, unit: "ms", at_most };
    let rows = looks.iter().zip(&waits).flat_map(|(path, waits)| {
        [
            figure(format!("`{path}` p50"), ms(waits, 50), None),
            figure(format!("`{path}` p95"), ms(waits, 95), Some(PROMISE_MS)),
        ]
    });
    Ok(rows.collect())
}

/// The fingerprint of a cause that has dead letters.
async fn a_cause(server: &Server, token: &str) -> Result<String> {
    let groups = server.json("/api/groups", token).await?;
    let first = groups.get("groups").and_then(|groups| groups.get(0)?.get("fingerprint")?.as_str());
    Ok(first.context("no cause is known")?.to_owned())
}
