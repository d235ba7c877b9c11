//! Clients that stall, drip and go away, and one who just wants to work.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use redrive_lab::gateway::Answer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpSocket, TcpStream};

use super::kit::{World, eventually, form, pdf};

on_both!(slow_clients_are_closed_and_nobody_else_notices);

/// Connects from another loopback address: a crowd shares one, and it is not that of the others.
async fn connect(to: &str, from: &str) -> std::io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind(SocketAddr::new(from.parse().unwrap(), 0))?;
    socket.connect(to.parse().unwrap()).await
}

/// Sends a byte now and then until the other side has had enough; answers how long that took.
async fn drip(mut stream: TcpStream, head: String, from: Instant) -> Duration {
    if stream.write_all(head.as_bytes()).await.is_err() {
        return from.elapsed();
    }
    let mut said = [0; 4096];
    loop {
        tokio::select! {
            read = stream.read(&mut said) => match read {
                Ok(0) | Err(_) => return from.elapsed(),
                Ok(_) => {}
            },
            () = tokio::time::sleep(Duration::from_millis(500)) => {
                if stream.write_all(b"x").await.is_err() {
                    return from.elapsed();
                }
            }
        }
    }
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
    let began = Instant::now();
    let mut crowd = tokio::task::JoinSet::new();
    // Heads that never end; the door takes so many of one address and closes the others at once.
    for n in 0..500 {
        let from = if n % 2 == 0 { "127.0.0.2" } else { "127.0.0.3" };
        if let Ok(stream) = connect(&server.address, from).await {
            crowd.spawn(drip(stream, "GET /api/jobs HTTP/1.1\r\nhost: x\r\nx-a: ".to_owned(), began));
        }
    }
    let body = form(&pdf(1), None).len();
    let head = format!(
        "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=XX\r\n\
         content-length: {body}\r\n\r\n--XX\r\n"
    );
    for _ in 0..200 {
        if let Ok(stream) = connect(&server.address, "127.0.0.4").await {
            crowd.spawn(drip(stream, head.clone(), began));
        }
    }
    // A large result that nobody reads.
    let mut stalled = Vec::new();
    for _ in 0..60 {
        let mut stream = connect(&server.address, "127.0.0.6").await.unwrap();
        let head = format!(
            "GET /api/jobs/{large}/download HTTP/1.1\r\nhost: x\r\ncookie: {}\r\n\r\n",
            browser.cookie().unwrap()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stalled.push(stream);
    }
    // Somebody who goes away at the end of an upload.
    for n in 0..20u32 {
        let whole = form(&pdf(10 + n), None);
        let mut stream = connect(&server.address, "127.0.0.5").await.unwrap();
        let head = format!(
            "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=XX\r\n\
             content-length: {}\r\n\r\n",
            whole.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&whole[..whole.len() - 3]).await.unwrap();
    }
    // Meanwhile a person works.
    let mut waits = Vec::new();
    while !crowd.is_empty() {
        let asked = Instant::now();
        let answer = browser.upload(&pdf(1_000 + u32::try_from(waits.len()).unwrap())).await;
        match answer.status {
            201 => {
                browser.job(&answer.job_id()).await;
                waits.push(asked.elapsed() / 2);
            }
            // A machine with nothing left to give may ask for time: that is no quick answer.
            _ => {
                assert_eq!(answer.problem().0, 503);
                waits.push(Duration::from_secs(5));
            }
        }
        while let Some(ended) = crowd.try_join_next() {
            let ended = ended.unwrap();
            assert!(ended < Duration::from_secs(40), "a slow client was borne for {ended:?}");
        }
        assert!(began.elapsed() < Duration::from_secs(55), "{} are still there", crowd.len());
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    waits.sort_unstable();
    let most = waits[waits.len() * 9 / 10];
    assert!(most < Duration::from_secs(1), "one in ten waited {most:?}: {waits:?}");
    drop(stalled);
    eventually("handles to come back", async || (server.handles() <= baseline + 8).then_some(())).await;
    eventually("temps to go", async || world.files("uploads/.redrive-temp").is_empty().then_some(())).await;
    server.stop().await;
}
