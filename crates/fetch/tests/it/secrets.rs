//! What a manifest confides is not told on.

use redrive_engine::model::State;
use redrive_lab::origin::{Answer, Origin};

use crate::bench::{Bench, noise, resource};

/// Covers L2 and L3 of the security rules for downloads.
#[tokio::test]
async fn no_secret_and_no_body_is_in_what_is_kept_of_a_failure() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    let path = "/a?X-Amz-Signature=CANARY1";
    for (n, answer) in [
        Answer::Status(404, Vec::new(), "CANARY4 in a body".into()),
        Answer::status(500),
        Answer::Garbage,
        Answer::Close,
        Answer::Silence,
        Answer::CutAs(String::new(), noise(1_000), 500),
        Answer::redirect(302, "http://user:CANARY5@127.0.0.1/?b=CANARY5"),
        Answer::redirect(302, path),
    ]
    .into_iter()
    .enumerate()
    {
        origin.say(path, [answer.clone()]);
        let mut wanted = resource(&origin.url(path));
        wanted.id = format!("{n} {}", wanted.url);
        wanted.headers.insert("authorization".into(), "Bearer CANARY2".into());
        wanted.headers.insert("cookie".into(), "session=CANARY3".into());
        let row = bench.ended(bench.enqueue(&wanted).await).await;
        assert_eq!(row.state, State::Failed);
        let kept = format!("{row:?} {:?}", bench.engine.attempts(row.id).await.unwrap());
        assert!(!kept.contains("CANARY"), "{answer:?}: {kept}");
        assert!(kept.contains("X-Amz-Signature=***"), "{answer:?}: {kept}");
    }
    running.drain().await;
}
