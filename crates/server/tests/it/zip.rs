//! Many results in one file.

use crate::gateway::Mood;
use crate::world::{World, pdf};

/// The entries of a ZIP by its own directory: name, checksum as recorded, bytes.
fn entries(zip: &[u8]) -> Vec<(String, u32, Vec<u8>)> {
    let short = |at: usize| u16::from_le_bytes([zip[at], zip[at + 1]]) as usize;
    let long = |at: usize| u32::from_le_bytes([zip[at], zip[at + 1], zip[at + 2], zip[at + 3]]) as usize;
    let end = zip.len() - 22;
    assert_eq!(long(end), 0x0605_4b50);
    let (mut at, mut found) = (long(end + 16), Vec::new());
    assert_eq!(at + long(end + 12), end);
    for _ in 0..short(end + 10) {
        assert_eq!(long(at), 0x0201_4b50);
        let (checksum, size, name) = (long(at + 16), long(at + 24), short(at + 28));
        let (begin, named) = (long(at + 42), at + 46);
        let text = String::from_utf8(zip[named..named + name].to_vec()).unwrap();
        assert_eq!((long(begin), long(begin + 14), long(begin + 22)), (0x0403_4b50, checksum, size));
        let data = begin + 30 + short(begin + 26) + short(begin + 28);
        found.push((text, u32::try_from(checksum).unwrap(), zip[data..data + size].to_vec()));
        at = named + name;
    }
    found
}

#[tokio::test]
async fn own_results_come_in_one_file_each_under_its_name() {
    let world = World::start().await;
    let mut client = world.client();
    let mut ids = Vec::new();
    for (n, name) in ["Müller.pdf", "a.pdf", "a.pdf"].into_iter().enumerate() {
        world.gateway.makes(format!("<text>{}</text>", "x".repeat(n * 100_000)));
        ids.push(world.converted(&mut client, name, &pdf(u32::try_from(n).unwrap())).await);
    }
    let all = client.get("/api/download.zip").await;
    assert_eq!((all.status, all.header("content-type")), (200, Some("application/zip")));
    let found = entries(&all.body);
    let names: Vec<&str> = found.iter().map(|entry| entry.0.as_str()).collect();
    assert_eq!(names, ["a.xml", "a (2).xml", "Müller.xml"]);
    for (n, (_, checksum, bytes)) in found.iter().rev().enumerate() {
        assert_eq!(*bytes, format!("<text>{}</text>", "x".repeat(n * 100_000)).into_bytes());
        assert_eq!(*checksum, crc32fast::hash(bytes));
    }
    let some = client.get(&format!("/api/download.zip?ids={},{}", ids[0], ids[2])).await;
    assert_eq!(entries(&some.body).len(), 2);
    world.gateway.mood(Mood::Refuses);
    let failed = world.converted(&mut client, "b.pdf", &pdf(9)).await;
    assert_eq!(client.get(&format!("/api/download.zip?ids={failed}")).await.code(), "NOT_READY");
    assert_eq!(client.get("/api/download.zip?ids=nonsense").await.code(), "FORBIDDEN");
    assert_eq!(client.get("/api/download.zip?all=1").await.code(), "VALIDATION_UNKNOWN_FIELD");
}

#[tokio::test]
async fn a_damaged_result_cuts_the_file_and_too_many_are_refused() {
    let world = World::with(|setup| setup.limits.zip_entries = 2).await;
    let mut client = world.client();
    let mut ids = Vec::new();
    for n in 0..3 {
        world.gateway.makes(format!("<text>{n}</text>"));
        ids.push(world.converted(&mut client, "a.pdf", &pdf(n)).await);
    }
    let answer = client.get(&format!("/api/download.zip?ids={}", ids.join(","))).await;
    assert_eq!((answer.status, answer.code().as_str()), (413, "VALIDATION_TOO_MANY"));
    assert_eq!(entries(&client.get("/api/download.zip").await.body).len(), 2, "the newest");
    for file in world.files("results") {
        std::fs::write(file, "<text>?</text>").unwrap();
    }
    let response = client.request("GET", "/api/download.zip").send().await.unwrap();
    assert!(response.bytes().await.is_err());
}
