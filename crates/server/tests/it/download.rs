//! Results: whole and right, or not at all.

use redrive_blob::Sha256;

use crate::gateway::Mood;
use crate::world::{World, pdf};

#[tokio::test]
async fn a_result_is_an_attachment_that_no_browser_runs() {
    let world = World::start().await;
    let xml = format!("<text>{}</text>", "é".repeat(50_000));
    world.gateway.makes(xml.clone());
    let mut client = world.client();
    let id = world.converted(&mut client, "Rechnung \"7\" – März.pdf", &pdf(1)).await;
    let path = format!("/api/jobs/{id}/download");
    let answer = client.get(&path).await;
    assert_eq!((answer.status, answer.body.as_slice()), (200, xml.as_bytes()));
    let tag = format!("\"{}\"", Sha256::of(xml.as_bytes()));
    for (name, value) in [
        ("content-type", "application/xml"),
        ("x-content-type-options", "nosniff"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("etag", tag.as_str()),
        ("accept-ranges", "bytes"),
        ("content-length", &xml.len().to_string()),
        (
            "content-disposition",
            "attachment; filename=\"Rechnung _227_22 _ M_rz.xml\"; filename*=UTF-8''Rechnung%20%25227%2522%20%E2%80%93%20M%C3%A4rz.xml",
        ),
    ] {
        assert_eq!(answer.header(name), Some(value), "{name}");
    }
    let same = client.ask("GET", &path, &[("if-none-match", &tag)]).await;
    assert_eq!((same.status, same.body.len(), same.header("etag")), (304, 0, Some(tag.as_str())));
    let head = client.ask("HEAD", &path, &[]).await;
    assert_eq!((head.status, head.header("content-length")), (200, Some(xml.len().to_string().as_str())));
}

#[tokio::test]
async fn parts_are_sent_as_asked() {
    let world = World::start().await;
    let xml = "<text>0123456789</text>";
    world.gateway.makes(xml.to_owned());
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let path = format!("/api/jobs/{id}/download");
    let tag = format!("\"{}\"", Sha256::of(xml.as_bytes()));
    for (headers, status, body, range) in [
        (vec![("range", "bytes=6-9")], 206, &xml[6..10], Some("bytes 6-9/23")),
        (vec![("range", "bytes=-7")], 206, "</text>", Some("bytes 16-22/23")),
        (vec![("range", "bytes=16-999")], 206, "</text>", Some("bytes 16-22/23")),
        (vec![("range", "bytes=6-9"), ("if-range", tag.as_str())], 206, &xml[6..10], Some("bytes 6-9/23")),
        (vec![("range", "bytes=6-9"), ("if-range", "\"old\"")], 200, xml, None),
        (vec![("range", "bytes=0-1,3-4")], 200, xml, None),
        (vec![("range", "lines=1")], 200, xml, None),
    ] {
        let answer = client.ask("GET", &path, &headers).await;
        assert_eq!((answer.status, answer.text().as_str()), (status, body), "{headers:?}");
        assert_eq!(answer.header("content-range"), range);
    }
    let outside = client.ask("GET", &path, &[("range", "bytes=23-")]).await;
    assert_eq!((outside.status, outside.code().as_str()), (416, "VALIDATION_INVALID_FIELD"));
    assert_eq!(outside.header("content-range"), Some("bytes */23"), "it says how much there is");
}

#[tokio::test]
async fn a_damaged_result_is_never_whole() {
    let world = World::start().await;
    let xml = format!("<text>{}</text>", "x".repeat(300_000));
    world.gateway.makes(xml.clone());
    let mut client = world.client();
    let id = world.converted(&mut client, "a.pdf", &pdf(1)).await;
    let file = world.files("results").pop().unwrap();
    let mut bytes = std::fs::read(&file).unwrap();
    bytes[150_000] = b'y';
    std::fs::write(&file, &bytes).unwrap();
    let path = format!("/api/jobs/{id}/download");
    // The cut may come before or after the head has left.
    if let Ok(response) = client.request("GET", &path).send().await {
        assert_eq!(response.status(), 200);
        assert!(response.bytes().await.is_err(), "the connection must be cut");
    }
    let part = client.ask("GET", &path, &[("range", "bytes=0-9")]).await;
    assert_eq!((part.status, part.code().as_str()), (500, "IO_ERROR"));
    std::fs::remove_file(&file).unwrap();
    let lost = client.get(&path).await;
    assert_eq!((lost.status, lost.code().as_str()), (404, "EXPIRED"));
}

#[tokio::test]
async fn what_is_not_ready_or_over_says_so() {
    let world = World::start().await;
    let mut client = world.client();
    world.gateway.mood(Mood::Silent);
    let id = client.upload("a.pdf", &pdf(1), None).await.job_id();
    let path = format!("/api/jobs/{id}/download");
    let early = client.get(&path).await;
    assert_eq!((early.status, early.code().as_str()), (409, "NOT_READY"));
    world.gateway.mood(Mood::Fine);
    world.ended(&id).await;
    assert_eq!(client.get(&path).await.status, 200);
    world.engine.store().expire(vec![id.parse().unwrap()]).await.unwrap();
    let late = client.get(&path).await;
    assert_eq!((late.status, late.code().as_str()), (404, "EXPIRED"));
    assert_eq!(client.get(&format!("/api/jobs/{id}")).await.json()["can_download"], false);
    assert_eq!(client.upload("a.pdf", &pdf(1), None).await.status, 201, "the same upload makes a new job");
}
