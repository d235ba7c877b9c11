//! What comes in: what is taken, what is refused, what is left behind.

use std::io::{Read, Write};
use std::time::Duration;

use redrive_model::State;
use redrive_store::{JobFilter, PageRequest};

use crate::client::form;
use crate::gateway::Mood;
use crate::world::{PDF, World, pdf};

#[tokio::test]
async fn a_pdf_becomes_a_job_and_its_file_is_named_by_nobody_but_us() {
    let world = World::start().await;
    let mut client = world.client();
    for (n, name) in
        ["../../x", "C:\\x.pdf", "", ".", "\u{202e}fdp.exe", "a b.txt", "%2e%2e", "<img onerror=x>"]
            .into_iter()
            .enumerate()
    {
        let answer = client.upload(name, &pdf(u32::try_from(n).unwrap()), Some("alto")).await;
        assert_eq!(answer.status, 201, "{name:?}: {}", answer.text());
        let job = answer.json()["job"].clone();
        let id = job["id"].as_str().unwrap();
        assert_eq!(answer.json()["deduped_from"], serde_json::Value::Null);
        assert_eq!(answer.header("location"), Some(format!("/api/jobs/{id}").as_str()));
        assert_eq!((job["mapping"].as_str(), job["workload"].as_str()), (Some("alto"), Some("convert")));
        let shown = job["filename"].as_str().unwrap();
        assert!(!shown.contains(['/', '\\', '\u{202e}']), "{shown}");
        assert!(world.folder.path().join("uploads").join(format!("{id}.pdf")).is_file());
    }
    assert_eq!(world.files("uploads").len(), 8);
}

/// Also covers: A1.
#[tokio::test]
async fn what_is_no_pdf_is_refused_and_seen() {
    let world = World::start().await;
    let mut client = world.client();
    let png = [&b"\x89PNG\r\n\x1a\n"[..], &[0; 5_000]].concat();
    let polyglot = [&b"%PDF-1.4\n<html>"[..], &vec![b'x'; 200_000], b"</html>"].concat();
    for (name, bytes) in
        [("png.pdf", png.as_slice()), ("polyglot.pdf", &polyglot), ("empty.pdf", b""), ("four.pdf", b"%PDF")]
    {
        let answer = client.upload(name, bytes, None).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "NOT_PDF"), "{name}");
        let id = answer.json()["job_id"].as_str().unwrap().to_owned();
        let job = client.get(&format!("/api/jobs/{id}")).await.json();
        assert_eq!((job["status"].as_str(), job["filename"].as_str()), (Some("failed"), Some(name)));
        assert_eq!(job["error"]["code"], "NOT_PDF");
        assert_eq!((&job["can_retry"], &job["can_download"]), (&false.into(), &false.into()));
        let again = client.post(&format!("/api/jobs/{id}/retry")).await;
        assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT_STATE"));
    }
    assert_eq!(client.upload("a.txt", PDF, None).await.status, 201, "the name says nothing");
    assert_eq!(world.files("uploads").len(), 1, "nothing stays of what was refused");
    assert_eq!(world.engine.store().count_dead(Default::default()).await.unwrap(), 0);
}

/// Also covers: M47, A2.
#[tokio::test]
async fn one_byte_more_than_the_limit_is_too_much_however_it_comes() {
    let world = World::with(|setup| setup.limits.max_upload = 300_000).await;
    let mut client = world.client();
    let sized = |bytes: usize| [vec![b'\n'; bytes - PDF.len()], PDF.to_vec()].concat();
    let exact = [b"%PDF-1.7\n".to_vec(), sized(300_000 - 9)].concat();
    assert_eq!(client.upload("exact.pdf", &exact, None).await.status, 201);
    let more = [exact.clone(), b"\n".to_vec()].concat();
    let large = [exact, vec![b'\n'; 2 << 20]].concat();
    for (name, bytes) in [("more.pdf", &more), ("large.pdf", &large)] {
        let answer = client.upload(name, bytes, None).await;
        assert_eq!((answer.status, answer.code().as_str()), (413, "TOO_LARGE"), "{name}");
        let id = answer.json()["job_id"].as_str().unwrap().to_owned();
        let job = client.get(&format!("/api/jobs/{id}")).await.json();
        assert_eq!(job["error"]["message"], "File exceeds the limit of 300000 bytes.");
        // In chunks, without a length.
        let body = form(&[("file", Some(name), bytes)]);
        let pieces: Vec<Result<Vec<u8>, std::io::Error>> =
            body.chunks(10_000).map(|c| Ok(c.to_vec())).collect();
        let request = client
            .request("POST", "/api/upload")
            .header("content-type", "multipart/form-data; boundary=XX")
            .body(reqwest::Body::wrap_stream(futures::stream::iter(pieces)));
        assert_eq!(client.send(request).await.code(), "TOO_LARGE", "{name} in chunks");
    }
    assert_eq!(world.files("uploads").len(), 1);
}

#[tokio::test]
async fn a_client_that_waits_to_be_asked_is_refused_before_it_sends() {
    let world = World::with(|setup| setup.limits.max_upload = 1_000).await;
    let address = world.url.strip_prefix("http://").unwrap().to_owned();
    let status = tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let head = "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: application/pdf\r\nexpect: 100-continue\r\ncontent-length: 99999999\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = [0; 12];
        stream.read_exact(&mut answer).unwrap();
        String::from_utf8(answer.to_vec()).unwrap()
    });
    assert_eq!(status.await.unwrap(), "HTTP/1.1 415");
}

#[tokio::test]
async fn forms_that_cannot_be_meant_are_refused_and_leave_nothing() {
    let world = World::start().await;
    let mut client = world.client();
    let (file, mapping) = (("file", Some("a.pdf"), PDF), ("mapping", None, &b"text"[..]));
    let many: Vec<_> = (0..100).map(|_| ("x", None, &b""[..])).collect();
    let long = vec![b'x'; 10_000];
    for (fields, code) in [
        (vec![file, file], "VALIDATION_INVALID_FIELD"),
        (vec![mapping, mapping, file], "VALIDATION_INVALID_FIELD"),
        (vec![mapping], "VALIDATION_MISSING_FIELD"),
        (vec![], "VALIDATION_MISSING_FIELD"),
        (vec![("maping", None, &b"text"[..]), file], "VALIDATION_UNKNOWN_FIELD"),
        (vec![("mapping", None, &b"nope"[..]), file], "VALIDATION_UNKNOWN_MAPPING"),
        (vec![file, ("mapping", None, &b"nope"[..])], "VALIDATION_UNKNOWN_MAPPING"),
        (vec![("mapping", None, &b"a\0b"[..]), file], "VALIDATION_INVALID_FIELD"),
        (vec![("mapping", None, long.as_slice()), file], "VALIDATION_INVALID_FIELD"),
        (many, "VALIDATION_UNKNOWN_FIELD"),
    ] {
        let answer = client.form(&fields, &[]).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, code), "{}", answer.text());
    }
    for (kind, body) in [
        ("multipart/form-data; boundary=XX", &b"--XX\r\nnonsense"[..]),
        ("multipart/form-data; boundary=XX", b""),
    ] {
        let request = client.request("POST", "/api/upload").header("content-type", kind).body(body);
        assert_eq!(client.send(request).await.code(), "VALIDATION_MALFORMED");
    }
    let packed = client.upload_with("a.pdf", PDF, None, &[("content-encoding", "gzip")]).await;
    assert_eq!((packed.status, packed.code().as_str()), (415, "UNSUPPORTED_MEDIA_TYPE"));
    let request = client.request("POST", "/api/upload").header("content-type", "application/pdf").body(PDF);
    assert_eq!(client.send(request).await.status, 415);
    assert_eq!(world.files("uploads").len(), 0);
    assert_eq!(client.get("/api/jobs").await.json()["jobs"].as_array().unwrap().len(), 0);
}

#[tokio::test]
async fn while_the_gateway_has_never_answered_any_mapping_is_taken() {
    let world = World::with(|setup| (setup.mappings, setup.works) = (None, false)).await;
    let mut client = world.client();
    let answer = client.upload("a.pdf", PDF, Some("house-style")).await;
    assert_eq!((answer.status, answer.json()["job"]["mapping"].as_str()), (201, Some("house-style")));
    assert_eq!(client.upload("b.pdf", PDF, None).await.json()["job"]["mapping"], "text");
    assert_eq!(client.get("/api/mappings").await.json()[0]["name"], "text");
    assert_eq!(client.get("/api/status").await.json()["gateway"], "unknown");
}

/// Also covers: M47.
#[tokio::test]
async fn the_same_bytes_and_mapping_are_one_job_until_it_has_failed() {
    let world = World::start().await;
    let mut client = world.client();
    let first = client.upload("a.pdf", PDF, None).await.job_id();
    let again = client.upload("b.pdf", PDF, Some("text")).await;
    assert_eq!((again.status, again.job_id()), (200, first.clone()));
    assert_eq!(again.json()["deduped_from"], first);
    assert_eq!(world.files("uploads").len(), 1, "the second file is gone");
    world.ended(&first).await;
    assert_eq!(client.upload("a.pdf", PDF, None).await.status, 200, "also when it is complete");
    assert_eq!(client.upload("a.pdf", PDF, Some("alto")).await.status, 201, "another mapping");
    world.gateway.mood(Mood::Refuses);
    let failed = world.converted(&mut client, "c.pdf", &pdf(1)).await;
    let anew = client.upload("c.pdf", &pdf(1), None).await;
    assert_eq!(anew.status, 201);
    assert_ne!(anew.job_id(), failed);
}

#[tokio::test]
async fn a_repeated_request_with_its_key_gets_the_same_answer() {
    let world = World::start().await;
    let mut client = world.client();
    let key = [("idempotency-key", "upload-7")];
    world.gateway.mood(Mood::Refuses);
    let first = client.upload_with("a.pdf", &pdf(1), None, &key).await;
    world.ended(&first.job_id()).await;
    // Without the key this would be a new job, because the first one has failed.
    let again = client.upload_with("a.pdf", &pdf(1), None, &key).await;
    assert_eq!((again.status, again.job_id()), (201, first.job_id()));
    let other = client.upload_with("a.pdf", &pdf(2), None, &key).await;
    assert_eq!((other.status, other.code().as_str()), (422, "IDEMPOTENCY_MISMATCH"));
    let mut stranger = world.client();
    let theirs = stranger.upload_with("a.pdf", &pdf(2), None, &key).await;
    assert_eq!(theirs.status, 201, "keys belong to their owner");
    for bad in ["", " ", &"x".repeat(256)] {
        let answer = client.upload_with("a.pdf", &pdf(3), None, &[("idempotency-key", bad)]).await;
        assert_eq!(answer.code(), "VALIDATION_INVALID_FIELD", "{bad:?}");
    }
}

#[tokio::test]
async fn a_disk_that_fails_is_told_and_seen() {
    let world = World::start().await;
    let mut client = world.client();
    client.get("/api/jobs").await;
    // The place for uploads on their way is a file: nothing can be begun.
    let temp = world.folder.path().join("uploads/.redrive-temp");
    std::fs::remove_dir_all(&temp).unwrap();
    std::fs::write(&temp, b"").unwrap();
    let answer = client.upload("a.pdf", PDF, None).await;
    assert_eq!((answer.status, answer.code().as_str()), (500, "IO_ERROR"), "{}", answer.text());
    assert!(!answer.text().contains("redrive-temp"));
    let id = answer.json()["job_id"].as_str().unwrap().to_owned();
    assert_eq!(client.get(&format!("/api/jobs/{id}")).await.json()["error"]["code"], "IO_ERROR");
}

/// Also covers: M46.
#[tokio::test]
async fn a_client_that_goes_away_leaves_nothing() {
    let world = World::with(|setup| setup.works = false).await;
    let address = world.url.strip_prefix("http://").unwrap().to_owned();
    tokio::task::spawn_blocking(move || {
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        let body = form(&[("file", Some("a.pdf"), PDF)]);
        let head = format!(
            "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=XX\r\ncontent-length: {}\r\n\r\n",
            body.len() + 1_000
        );
        stream.write_all(head.as_bytes()).unwrap();
        stream.write_all(&body[..body.len() - 20]).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        // The server ends the connection when it has given up.
        let _ = stream.read_to_end(&mut Vec::new());
    })
    .await
    .unwrap();
    assert_eq!(world.files("uploads").len(), 0);
    let rows = world.engine.store().jobs(JobFilter::default(), PageRequest::default()).await.unwrap().rows;
    assert!(
        rows.iter().all(|row| row.workload.as_str() != "convert" || row.state == State::Failed),
        "{rows:?}"
    );
    assert!(!rows.iter().any(|row| row.workload.as_str() == "convert"));
}

/// Also covers: M46.
#[test]
fn uploads_that_drip_hold_no_thread() {
    const THREADS: usize = 4;
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(2).max_blocking_threads(THREADS).enable_all().build().unwrap();
    runtime.block_on(async {
        let world = World::start().await;
        let whole = form(&[("file", Some("a.pdf"), &crate::world::large_pdf())]);
        let mut drips = Vec::new();
        for _ in 0..5 * THREADS {
            let (body, pieces) = futures::channel::mpsc::unbounded::<Result<Vec<u8>, std::io::Error>>();
            let request = world
                .client()
                .request("POST", "/api/upload")
                .header("content-type", "multipart/form-data; boundary=XX")
                .body(reqwest::Body::wrap_stream(pieces));
            body.unbounded_send(Ok(whole[..whole.len() - 30].to_vec())).unwrap();
            drips.push((body, tokio::spawn(request.send())));
        }
        // All of them are there, and none is through; reading and writing goes on beside them.
        let mut client = world.client();
        let beside = async {
            while world.files("uploads").len() < drips.len() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            world.converted(&mut client, "b.pdf", &pdf(1)).await
        };
        tokio::time::timeout(Duration::from_secs(20), beside).await.expect("nobody waits for who drips");
        assert!(drips.iter().all(|(_, asking)| !asking.is_finished()));
        for (body, asking) in drips {
            body.unbounded_send(Ok(whole[whole.len() - 30..].to_vec())).unwrap();
            drop(body);
            assert_eq!(asking.await.unwrap().unwrap().status(), 201);
        }
    });
}

#[tokio::test]
async fn an_unknown_mapping_that_comes_first_is_refused_before_the_file_is_there() {
    let world = World::start().await;
    let client = world.client();
    let (body, pieces) = futures::channel::mpsc::unbounded::<Result<Vec<u8>, std::io::Error>>();
    let request = client
        .request("POST", "/api/upload")
        .header("content-type", "multipart/form-data; boundary=XX")
        .body(reqwest::Body::wrap_stream(pieces));
    let whole = crate::client::form(&[("mapping", None, b"nope"), ("file", Some("a.pdf"), &pdf(1))]);
    let begun = whole.windows(6).position(|part| part == b"%PDF-1").unwrap();
    body.unbounded_send(Ok(whole[..begun].to_vec())).unwrap();
    // The rest never comes; the answer does.
    let answer = tokio::time::timeout(Duration::from_secs(20), request.send()).await.unwrap().unwrap();
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await.unwrap().contains("VALIDATION_UNKNOWN_MAPPING"));
    assert!(world.files("uploads").is_empty(), "not a byte was stored");
    drop(body);
}
