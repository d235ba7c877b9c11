//! A handler has its time: whoever waits too long is told so, and what was begun is done all the same.

use std::time::Duration;

use crate::world::{World, pdf};

#[tokio::test]
async fn a_handler_that_takes_too_long_is_answered_for() {
    let world = World::with(|setup| (setup.limits.deadline, setup.mappings) = (Duration::ZERO, None)).await;
    // What the handler waits for never comes.
    let never = futures::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    let mut operator = world.operator();
    let request = operator.request("POST", "/api/replays").body(reqwest::Body::wrap_stream(never));
    let answer = operator.send(request).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "ANSWER_TIMEOUT"));
    assert!(answer.text().contains("took too long"), "{}", answer.text());
    // Uploads have a clock of their own, and whoever only lives always answers.
    assert_eq!(world.client().upload("a.pdf", &pdf(1), None).await.status, 201);
}

#[tokio::test]
async fn what_looks_at_every_job_is_stopped_and_says_what_can_be_done() {
    let world = World::with(|setup| setup.limits.long_deadline = Duration::ZERO).await;
    // What the handler waits for never comes.
    let never = futures::stream::pending::<Result<Vec<u8>, std::io::Error>>();
    let mut operator = world.operator();
    let request = operator.request("POST", "/api/simulate").header("content-type", "application/json");
    let answer = operator.send(request.body(reqwest::Body::wrap_stream(never))).await;
    assert_eq!((answer.status, answer.code().as_str()), (503, "ANSWER_TIMEOUT"));
    assert_eq!(answer.header("retry-after"), Some("60"));
    assert!(answer.text().contains("a later since"), "{}", answer.text());
    // Whoever asks for one thing is not kept waiting by it.
    assert_eq!(operator.get("/api/jobs").await.status, 200);
}
