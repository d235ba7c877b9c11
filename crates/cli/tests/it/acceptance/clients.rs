//! Clients that stall, drip and go away, and one who just wants to work.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use redrive_lab::gateway::Answer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;

use super::kit::{Browser, World, eventually, form, pdf};

on_both!(slow_clients_are_closed_and_nobody_else_notices);

/// Slow clients send and read so much …
const SOME: usize = 5;
/// … so often: ten bytes a second.
const EVERY: Duration = Duration::from_millis(500);
/// A head has ten seconds, a body must keep its pace after ten and is listened to for five more. The rest is for a busy machine.
const BORNE: Duration = Duration::from_secs(25);

/// Connects from another loopback address: a crowd shares one, and it is not that of the others.
async fn connect(to: &str, from: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0)).unwrap();
    // The kernel shall not read for whoever reads slowly.
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.connect(to.parse().unwrap()).await.unwrap()
}

/// Sends a few bytes now and then until the other side has had enough: how long that took, and what it said.
async fn drip(mut stream: TcpStream, head: String) -> (Duration, String) {
    let from = Instant::now();
    let mut said = Vec::new();
    let mut open = stream.write_all(head.as_bytes()).await.is_ok();
    while open {
        open = tokio::select! {
            read = stream.read_buf(&mut said) => matches!(read, Ok(1..)),
            () = tokio::time::sleep(EVERY) => stream.write_all(&[b'x'; SOME]).await.is_ok(),
        };
    }
    (from.elapsed(), String::from_utf8_lossy(&said).into_owned())
}

/// Reads a few bytes now and then, for as long as there are any.
async fn sip(mut stream: TcpStream) {
    let mut few = [0; SOME];
    while matches!(stream.read(&mut few).await, Ok(1..)) {
        tokio::time::sleep(EVERY).await;
    }
}

/// Somebody who works until told to stop: how long each request took. Nothing of it may be refused.
async fn work(browser: &Browser, enough: &AtomicBool) -> Vec<Duration> {
    let mut waits = Vec::new();
    for n in 1_000.. {
        if enough.load(Ordering::Relaxed) {
            break;
        }
        let mut timed = async |request: reqwest::RequestBuilder, wanted: u16| {
            let asked = Instant::now();
            let answer = browser.send(request).await;
            waits.push(asked.elapsed());
            assert_eq!(answer.status, wanted, "{}", answer.text());
            answer
        };
        let id = timed(browser.upload_request(&pdf(n), None), 201).await.job_id();
        timed(browser.request("GET", &format!("/api/jobs/{id}")), 200).await;
        timed(browser.request("GET", "/api/jobs?limit=10"), 200).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    waits
}

/// Also covers: M46.
async fn slow_clients_are_closed_and_nobody_else_notices(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::text(&format!("<a>{}</a>", " ".repeat(4 << 20)))]);
    let large = browser.hand_in(&pdf(0)).await;
    browser.until(&large, "complete").await;
    world.gateway.behave();
    let baseline = server.handles();
    let cookie = browser.cookie().unwrap();
    let upload = |bytes: usize| {
        format!(
            "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=XX\r\n\
             content-length: {bytes}\r\n\r\n"
        )
    };
    let enough = AtomicBool::new(false);
    let crowd = async {
        let (mut drips, mut sips) = (JoinSet::new(), JoinSet::new());
        for n in 0..500 {
            let from = if n % 2 == 0 { "127.0.0.2" } else { "127.0.0.3" };
            let stream = connect(&server.address, from).await;
            drips.spawn(drip(stream, "GET /api/jobs HTTP/1.1\r\nhost: x\r\nx-a: ".to_owned()));
        }
        let begun = form(&pdf(1), None);
        let begun = String::from_utf8(begun[..begun.len() - 30].to_vec()).unwrap();
        for _ in 0..200 {
            let stream = connect(&server.address, "127.0.0.4").await;
            drips.spawn(drip(stream, upload(1 << 20) + &begun));
        }
        for _ in 0..200 {
            let mut stream = connect(&server.address, "127.0.0.6").await;
            let head =
                format!("GET /api/jobs/{large}/download HTTP/1.1\r\nhost: x\r\ncookie: {cookie}\r\n\r\n");
            stream.write_all(head.as_bytes()).await.unwrap();
            sips.spawn(sip(stream));
        }
        // Somebody who goes away at the end of an upload.
        for n in 0..20u32 {
            let whole = form(&pdf(10 + n), None);
            let mut stream = connect(&server.address, "127.0.0.5").await;
            stream.write_all(upload(whole.len()).as_bytes()).await.unwrap();
            stream.write_all(&whole[..whole.len() - 3]).await.unwrap();
        }
        // What has begun to come lies in memory while it is small: only its connection shows.
        eventually("everybody to be there", async || (server.handles() >= baseline + 900).then_some(()))
            .await;
        while let Some(ended) = drips.join_next().await {
            let (after, said) = ended.unwrap();
            assert!(after < BORNE, "a slow client was borne for {after:?}");
            assert!(said.is_empty() || said.starts_with("HTTP/1.1 408 "), "{said}");
        }
        // Whoever reads too slowly is not told: its connection is gone on our side, while it still reads.
        eventually("handles to come back", async || (server.handles() <= baseline + 8).then_some(())).await;
        assert_eq!(sips.len(), 200);
        enough.store(true, Ordering::Relaxed);
    };
    let ((), mut waits) = tokio::join!(crowd, work(&browser, &enough));
    waits.sort_unstable();
    let p99 = waits[waits.len() * 99 / 100];
    println!("{} requests, p50 {:?}, p99 {p99:?}, {:?}", waits.len(), waits[waits.len() / 2], waits.last());
    assert!(p99 < Duration::from_secs(1), "one in a hundred waited {p99:?}: {waits:?}");
    eventually("temps to go", async || world.files("uploads/.redrive-temp").is_empty().then_some(())).await;
    server.stop().await;
}
