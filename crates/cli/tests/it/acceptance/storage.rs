//! Disks that fail, and disks that are full.

use redrive_lab::gateway::right_answer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::kit::{SmallDisk, World, eventually, form, pdf, sha256};

on_both!(
    a_result_that_cannot_be_written_is_tried_once_more_and_ends_as_io_error,
    a_full_disk_for_results_holds_everybody_and_charges_nobody,
    a_disk_that_fills_up_during_an_upload_is_told_and_leaves_nothing,
);

/// Also covers: A6, R8, M45.
async fn a_result_that_cannot_be_written_is_tried_once_more_and_ends_as_io_error(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    // Somebody has put a file where results are written.
    let temps = world.path("data").join("results/.redrive-temp");
    std::fs::remove_dir(&temps).unwrap();
    std::fs::write(&temps, "in the way").unwrap();
    let id = browser.hand_in(&pdf(1)).await;
    let job = browser.until(&id, "failed").await;
    assert_eq!((&job["error"]["code"], &job["attempt"]), (&"IO_ERROR".into(), &2.into()), "{job:#}");
    assert!(job["error"]["message"].as_str().unwrap().starts_with("Temporary storage issue."), "{job:#}");
    let attempts = browser.attempts(&id).await;
    assert_eq!(attempts.len(), 2, "one retry");
    assert!(attempts.iter().all(|attempt| attempt["code"] == "IO_ERROR"), "{attempts:?}");
    assert_eq!(browser.download(&id).await.problem(), (409, "NOT_READY".to_owned()));
    // With the place in order again a retry by hand is enough.
    std::fs::remove_file(&temps).unwrap();
    assert_eq!(browser.retry(&id).await.status, 202);
    browser.until(&id, "complete").await;
    assert_eq!(browser.download(&id).await.text(), right_answer(&sha256(&pdf(1)), "text"));
}

/// Also covers: M45, O3.
async fn a_full_disk_for_results_holds_everybody_and_charges_nobody(mut world: World) {
    let Some(disk) = SmallDisk::mount(8) else { return };
    world.set("RESULTS_DIR", disk.path().display());
    // Uploads are taken to the last byte: here it is the work that finds the disk full.
    world.set("DISK_SOFT_BYTES", 0);
    world.set("DISK_HARD_BYTES", 0);
    let server = world.serve().await;
    let browser = server.browser();
    disk.fill();
    let ids = [browser.hand_in(&pdf(1)).await, browser.hand_in(&pdf(2)).await];
    eventually("the disk to be held", async || {
        let breaker = browser.breaker("disk").await;
        (breaker["state"] == "throttled").then_some(())
    })
    .await;
    for id in &ids {
        let job = browser.job(id).await;
        assert_ne!(job["status"], "failed", "{job:#}");
        assert_eq!(job["can_download"], false);
    }
    disk.free();
    for (n, id) in (1..).zip(&ids) {
        let job = browser.until(id, "complete").await;
        assert_eq!(job["attempt"], 1, "nobody paid for the disk: {job:#}");
        assert_eq!(browser.download(id).await.text(), right_answer(&sha256(&pdf(n)), "text"));
    }
}

/// Also covers: M45.
async fn a_disk_that_fills_up_during_an_upload_is_told_and_leaves_nothing(mut world: World) {
    // What is kept free for work that was accepted already is 256 MiB.
    let Some(disk) = SmallDisk::mount(280) else { return };
    world.set("UPLOADS_DIR", disk.path().display());
    let server = world.serve().await;
    let browser = server.browser();
    browser.get("/api/jobs").await;
    let mut paper = pdf(1);
    paper.splice(9..9, vec![b' '; 8 << 20]);
    let body = form(&paper, None);
    let head = format!(
        "POST /api/upload HTTP/1.1\r\nhost: {}\r\ncookie: {}\r\nconnection: close\r\n\
         content-type: multipart/form-data; boundary=XX\r\ncontent-length: {}\r\n\r\n",
        server.address,
        browser.cookie().unwrap(),
        body.len()
    );
    let mut stream = tokio::net::TcpStream::connect(&server.address).await.unwrap();
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(&body[..1 << 20]).await.unwrap();
    eventually("it to be written", async || {
        let temps = std::fs::read_dir(disk.path().join(".redrive-temp")).unwrap();
        temps.flatten().any(|temp| temp.metadata().is_ok_and(|meta| meta.len() > 100_000)).then_some(())
    })
    .await;
    disk.fill();
    let _ = stream.write_all(&body[1 << 20..]).await;
    let mut said = String::new();
    let _ = stream.read_to_string(&mut said).await;
    assert!(said.starts_with("HTTP/1.1 500 ") && said.contains("\"code\":\"IO_ERROR\""), "{said}");
    // Everybody else is answered, and nothing more is let in.
    let status = browser.get("/api/status").await;
    assert_eq!((status.status, &status.json()["accepting"]), (200, &false.into()));
    let jobs = browser.get("/api/jobs").await.json();
    assert_eq!(jobs["jobs"][0]["error"]["code"], "IO_ERROR", "the person sees the row: {jobs:#}");
    assert_eq!(browser.upload(&pdf(2)).await.problem(), (503, "OVERLOADED".to_owned()));
    let left: Vec<_> = std::fs::read_dir(disk.path().join(".redrive-temp")).unwrap().collect();
    assert!(left.is_empty(), "the temp is gone: {left:?}");
    disk.free();
    let id = eventually("room to be seen", async || {
        let answer = browser.upload(&pdf(2)).await;
        (answer.status == 201).then(|| answer.job_id())
    })
    .await;
    browser.until(&id, "complete").await;
}
