//! Pages that stay open: what it costs the server to keep them fresh, while a job comes every second.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::bench::figure::Figure;
use crate::bench::server::Server;

/// What keeping pages fresh may cost, in percent of one core.
const PROMISE: f64 = 5.0;

/// So many pages are open for so long; the same time without any is taken off.
pub async fn run(server: &Server, pages: usize, time: Duration) -> Result<Vec<Figure>> {
    let worker = server.session().await?;
    let without = share(server, &worker, time, 2_000_000).await?;
    let mut open = JoinSet::new();
    for _ in 0..pages {
        let cookie = server.session().await?;
        let mut stream = server.connect("127.0.0.1").await?;
        let head = format!("GET /live HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
        stream.write_all(head.as_bytes()).await?;
        let mut begun = [0; 4096];
        let n = stream.read(&mut begun).await?;
        ensure!(begun.get(..n).is_some_and(|said| said.starts_with(b"HTTP/1.1 200")), "a page was refused");
        open.spawn(async move { while matches!(stream.read(&mut begun).await, Ok(1..)) {} });
    }
    let with = share(server, &worker, time, 3_000_000).await?;
    ensure!(open.len() == pages && open.try_join_next().is_none(), "a page was let go");
    let figure = |what: String, value, at_most| Figure { what, value, unit: "% of a core", at_most };
    Ok(vec![
        figure("a job every second, no page open".to_owned(), without, None),
        figure(format!("a job every second, {pages} pages open"), with, None),
        figure(format!("what {pages} open pages cost"), (with - without).max(0.0), Some(PROMISE)),
    ])
}

/// How much of a core the server takes while a job comes every second. Its children, which read the PDFs, are not counted.
async fn share(server: &Server, cookie: &str, time: Duration, first: usize) -> Result<f64> {
    let (began, before) = (Instant::now(), server.processor()?);
    let mut number = first;
    while began.elapsed() < time {
        ensure!(server.upload(cookie, number).await? == 201, "an upload was refused");
        number += 1;
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    Ok((server.processor()? - before) / began.elapsed().as_secs_f64() * 100.0)
}
