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
    assert_eq!((answer.status, answer.code().as_str()), (503, "SYSTEM_UNAVAILABLE"));
    assert!(answer.text().contains("took too long"), "{}", answer.text());
    // Uploads and streams have clocks of their own, and whoever only lives always answers.
    assert_eq!(world.client().upload("a.pdf", &pdf(1), None).await.status, 201);
}
