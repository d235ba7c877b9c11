//! Clients that stall in their heads and uploads that drip, and how long somebody waits who just wants to work.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

use crate::bench::figure::Figure;
use crate::bench::measure::percentile;
use crate::bench::server::Server;

/// What is promised to whoever just wants to work.
const PROMISE_MS: f64 = 1_000.0;

/// So many stall, so many drip, while somebody works for so long.
pub async fn run(server: &Server, stalled: usize, dripping: usize, time: Duration) -> Result<Vec<Figure>> {
    let cookie = server.session().await?;
    let alone = work(server, &cookie, time / 4, 0).await?;
    let mut crowd = JoinSet::new();
    for n in 0..stalled {
        let stream = server.connect(if n % 2 == 0 { "127.0.0.2" } else { "127.0.0.3" }).await?;
        crowd.spawn(drip(stream, "GET /api/jobs HTTP/1.1\r\nhost: x\r\nx-a: ".to_owned()));
    }
    for _ in 0..dripping {
        let stream = server.connect("127.0.0.4").await?;
        let head = "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=XX\r\ncontent-length: 1048576\r\n\r\n\
                    --XX\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n%PDF-1.4\n";
        crowd.spawn(drip(stream, head.to_owned()));
    }
    let crowded = work(server, &cookie, time, 1_000_000).await?;
    crowd.abort_all();
    let ms = |waits: &[Duration], percent| percentile(waits.to_vec(), percent).as_secs_f64() * 1_000.0;
    let figure = |what: &str, value, at_most| Figure { what: what.to_owned(), value, unit: "ms", at_most };
    Ok(vec![
        figure("a normal request alone, p99", ms(&alone, 99), None),
        figure(&format!("beside {stalled} stalled and {dripping} dripping, p50"), ms(&crowded, 50), None),
        figure(
            &format!("beside {stalled} stalled and {dripping} dripping, p99"),
            ms(&crowded, 99),
            Some(PROMISE_MS),
        ),
    ])
}

/// Sends a few bytes now and then until the other side has had enough.
async fn drip(mut stream: TcpStream, head: String) {
    let mut open = stream.write_all(head.as_bytes()).await.is_ok();
    let mut said = [0; 512];
    while open {
        open = tokio::select! {
            read = stream.read(&mut said) => matches!(read, Ok(1..)),
            () = tokio::time::sleep(Duration::from_millis(500)) => stream.write_all(b"xxxxx").await.is_ok(),
        };
    }
}

/// Uploads and looks for so long: how long each request took. Nothing of it may be refused.
async fn work(server: &Server, cookie: &str, time: Duration, first: usize) -> Result<Vec<Duration>> {
    let (until, mut waits) = (Instant::now() + time, Vec::new());
    let mut number = first;
    while Instant::now() < until {
        let asked = Instant::now();
        ensure!(server.upload(cookie, number).await? == 201, "an upload was refused");
        waits.push(asked.elapsed());
        for path in ["/api/jobs?limit=10", "/healthz"] {
            let asked = Instant::now();
            let (status, _) = server.ask(&format!("GET {path} HTTP/1.1\r\ncookie: {cookie}"), b"").await?;
            waits.push(asked.elapsed());
            ensure!(status == 200, "{path}: {status}");
        }
        number += 1;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    Ok(waits)
}
