//! What is refused before it becomes a job, and what comes many times at once.

use futures::future::join_all;
use redrive_lab::gateway::Answer;

use super::kit::{World, eventually, form, pdf};

on_both!(
    a_bad_type_fails_with_not_pdf_and_400,
    more_than_fifty_megabytes_is_413_too_large,
    twenty_equal_uploads_at_once_are_one_job,
    a_body_longer_than_it_said_or_than_allowed_is_413_and_leaves_nothing,
    ten_retries_at_once_are_one_retry,
);

/// Also covers: A1.
async fn a_bad_type_fails_with_not_pdf_and_400(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    let answer = browser.upload(b"MZ\x90\0 a program that calls itself paper.pdf").await;
    assert_eq!(answer.problem(), (400, "NOT_PDF".to_owned()));
    let jobs = browser.get("/api/jobs").await.json();
    let job = &jobs["jobs"][0];
    assert_eq!((&job["status"], &job["error"]["code"]), (&"failed".into(), &"NOT_PDF".into()), "{jobs:#}");
    assert_eq!(job["error"]["message"], "Only PDF files are supported.");
    assert_eq!((&job["can_retry"], &job["can_download"]), (&false.into(), &false.into()));
    assert_eq!(answer.json()["job_id"], job["id"]);
    assert_eq!((world.gateway.calls().len(), world.files("uploads").len()), (0, 0));
}

/// Also covers: A2.
async fn more_than_fifty_megabytes_is_413_too_large(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    let mut large = pdf(1);
    large.resize(52_428_801, b' ');
    large.extend(b"\nstartxref\n9\n%%EOF\n");
    let answer = browser.upload(&large).await;
    assert_eq!(answer.problem(), (413, "TOO_LARGE".to_owned()));
    let jobs = browser.get("/api/jobs").await.json();
    let job = &jobs["jobs"][0];
    assert_eq!((&job["status"], &job["error"]["code"]), (&"failed".into(), &"TOO_LARGE".into()), "{jobs:#}");
    assert_eq!(job["can_retry"], false);
    assert_eq!((world.gateway.calls().len(), world.files("uploads").len()), (0, 0));
}

/// Also covers: M47.
async fn twenty_equal_uploads_at_once_are_one_job(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    browser.get("/api/jobs").await;
    let paper = pdf(1);
    let answers = join_all((0..20).map(|_| browser.upload(&paper))).await;
    let created = answers.iter().filter(|answer| answer.status == 201).count();
    let ids: Vec<String> = answers.iter().map(|answer| answer.job_id()).collect();
    assert!(ids.iter().all(|id| *id == ids[0]), "{ids:?}");
    assert_eq!(created, 1, "the others are told that it is there already");
    browser.until(&ids[0], "complete").await;
    assert_eq!((world.calls(&paper), world.files("uploads").len()), (1, 1));
}

/// Also covers: M47.
async fn a_body_longer_than_it_said_or_than_allowed_is_413_and_leaves_nothing(mut world: World) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    world.set("MAX_UPLOAD_BYTES", 1 << 20);
    let server = world.serve().await;
    let browser = server.browser();
    let mut large = pdf(1);
    large.resize(8 << 20, b' ');
    let pieces: Vec<std::io::Result<Vec<u8>>> =
        form(&large, None).chunks(64 << 10).map(|piece| Ok(piece.to_vec())).collect();
    let request = browser
        .request("POST", "/api/upload")
        .header("content-type", "multipart/form-data; boundary=XX")
        .body(reqwest::Body::wrap_stream(futures::stream::iter(pieces)));
    assert_eq!(browser.send(request).await.problem(), (413, "TOO_LARGE".to_owned()), "in chunks");
    // It says that a small form comes, and goes on.
    let mut stream = tokio::net::TcpStream::connect(&server.address).await.unwrap();
    let head = "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=XX\r\n\
                connection: close\r\ncontent-length: 500\r\n\r\n";
    stream.write_all(head.as_bytes()).await.unwrap();
    let _ = stream.write_all(&form(&large, None)).await;
    let mut said = Vec::new();
    let _ = stream.read_to_end(&mut said).await;
    let said = String::from_utf8_lossy(&said);
    assert!(said.is_empty() || said.starts_with("HTTP/1.1 400 "), "{said}");
    eventually("nothing to be left", async || world.files("uploads").is_empty().then_some(())).await;
    assert!(world.gateway.calls().is_empty());
}

/// Also covers: M47.
async fn ten_retries_at_once_are_one_retry(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    world.gateway_says([Answer::status(400)]);
    let paper = pdf(1);
    let id = browser.hand_in(&paper).await;
    browser.until(&id, "failed").await;
    // What was started again does not end before everybody has asked.
    world.gateway_says([Answer::Silence]);
    let answers = join_all((0..10).map(|_| browser.retry(&id))).await;
    let mut statuses: Vec<u16> = answers.iter().map(|answer| answer.status).collect();
    statuses.sort_unstable();
    assert_eq!(statuses, [202, 409, 409, 409, 409, 409, 409, 409, 409, 409]);
    for refused in answers.iter().filter(|answer| answer.status == 409) {
        assert_eq!(refused.problem().1, "CONFLICT_STATE");
    }
    eventually("the one retry", async || (world.calls(&paper) == 2).then_some(())).await;
    world.gateway.let_go();
    assert_eq!(browser.until(&id, "complete").await["generation"], 2);
    assert_eq!(world.calls(&paper), 2);
}
