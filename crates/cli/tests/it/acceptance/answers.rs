//! What becomes of a job for every answer of a gateway.

use redrive_lab::gateway::{Answer, Which, right_answer};
use serde_json::Value;

use super::kit::{Browser, World, eventually, pdf, sha256, when};

on_both!(
    a_refusal_of_the_gateway_fails_with_gw_4xx_and_is_not_retried,
    every_status_has_one_code_and_one_class,
    whoever_speaks_no_http_or_no_tls_is_gw_5xx_and_retried,
    a_body_that_is_no_whole_xml_is_never_complete,
    retry_after_is_kept_within_an_hour_and_nonsense_is_ignored,
    a_gateway_that_throttles_costs_no_attempt,
);

/// The job of a file that the gateway answers so.
async fn hand_in(world: &World, browser: &Browser, n: u32, answer: Answer) -> String {
    world.gateway.say(Which::File(sha256(&pdf(n))), [answer]);
    browser.hand_in(&pdf(n)).await
}

/// What the job ended as, after how many calls.
async fn ended(world: &World, browser: &Browser, n: u32, id: &str) -> (String, Value, usize) {
    let job = eventually(format!("the end of {id}"), async || {
        let job = browser.job(id).await;
        matches!(job["status"].as_str(), Some("complete" | "failed")).then_some(job)
    });
    let job = job.await;
    assert_eq!(browser.attempts(id).await.len(), world.calls(&pdf(n)), "{job:#}");
    (job["status"].as_str().unwrap().to_owned(), job["error"].clone(), world.calls(&pdf(n)))
}

/// Also covers: A3, T5.
async fn a_refusal_of_the_gateway_fails_with_gw_4xx_and_is_not_retried(world: World) {
    let server = world.serve().await;
    let browser = server.browser();
    for (n, answer, word) in [
        (1, Answer::status(400), "selected mapping"),
        (2, Answer::status(406), "selected mapping"),
        (3, Answer::problem(406, "unknown_mapping"), "Unsupported mapping"),
        (4, Answer::problem(400, "invalid_pdf"), "damaged"),
    ] {
        let id = hand_in(&world, &browser, n, answer).await;
        let (status, error, calls) = ended(&world, &browser, n, &id).await;
        assert_eq!((status.as_str(), &error["code"], calls), ("failed", &"GW_4XX".into(), 1), "{error}");
        let message = error["message"].as_str().unwrap();
        assert!(message.contains(word) && !message.contains("/srv"), "{message}");
        let job = browser.job(&id).await;
        assert_eq!((&job["can_retry"], &job["retry_after"]), (&true.into(), &Value::Null));
        assert!(!browser.events(&id).await.contains(&"retry".to_owned()));
    }
}

/// Also covers: M33.
async fn every_status_has_one_code_and_one_class(mut world: World) {
    world.without_breaker();
    world.set("RETRY_BASE_DELAY_MS", 20);
    world.set("RETRY_JITTER_MAX_MS", 10);
    let server = world.serve().await;
    let browser = server.browser();
    let mut all = Vec::new();
    for status in [400, 401, 403, 404, 406, 409, 413, 415, 422] {
        all.push((Answer::status(status), "GW_4XX", 1));
    }
    for status in [500, 502, 503, 504] {
        all.push((Answer::status(status), "GW_5XX", 3));
    }
    all.push((Answer::status(408), "GW_TIMEOUT", 3));
    all.push((Answer::Reset, "GW_5XX", 3));
    all.push((Answer::ResetAfterHead, "GW_5XX", 3));
    all.push((Answer::retry_after(302, "1"), "GW_5XX", 1));
    let mut ids = Vec::new();
    for (n, (answer, ..)) in (1..).zip(&all) {
        ids.push(hand_in(&world, &browser, n, answer.clone()).await);
    }
    for ((n, id), (answer, code, calls)) in (1..).zip(&ids).zip(&all) {
        let (status, error, called) = ended(&world, &browser, n, id).await;
        assert_eq!((status.as_str(), error["code"].as_str()), ("failed", Some(*code)), "{answer:?} {error}");
        assert_eq!(called, *calls, "{answer:?}");
        let codes = browser.attempts(id).await;
        assert!(codes.iter().all(|attempt| attempt["code"] == *code), "{answer:?} {codes:?}");
    }
}

/// Also covers: M33.
async fn whoever_speaks_no_http_or_no_tls_is_gw_5xx_and_retried(mut world: World) {
    world.without_breaker();
    let plain = world.gateway.url();
    // It answers every connection with a line of its own.
    let other = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let silent = format!("http://{}", other.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = other.accept().await {
            let _ = tokio::io::AsyncWriteExt::write_all(&mut stream, b"220 mail at your service\r\n").await;
        }
    });
    for (n, url) in [(1, plain.replace("http:", "https:")), (2, silent)] {
        world.set("GATEWAY_URL", &url);
        let server = world.serve().await;
        let browser = server.browser();
        let id = browser.hand_in(&pdf(n)).await;
        let job = browser.until(&id, "failed").await;
        assert_eq!((&job["error"]["code"], &job["attempt"]), (&"GW_5XX".into(), &3.into()), "{url} {job:#}");
        server.stop().await;
    }
    assert!(world.gateway.calls().is_empty());
}

/// Also covers: M35.
async fn a_body_that_is_no_whole_xml_is_never_complete(mut world: World) {
    world.without_breaker();
    world.set("RETRY_BASE_DELAY_MS", 20);
    world.set("RETRY_JITTER_MAX_MS", 10);
    let server = world.serve().await;
    let browser = server.browser();
    let truncated = 3;
    let whole_and_wrong = 1;
    let all = [
        (Answer::text(""), truncated),
        (Answer::text("<document><p>half"), truncated),
        (Answer::Cut, truncated),
        (Answer::CutChunks, truncated),
        (Answer::text("{\"error\":\"none\"}"), whole_and_wrong),
        (Answer::text("<html><body><p>502 Bad Gateway<hr></body></html>"), whole_and_wrong),
        (Answer::text("<!DOCTYPE a><a/>"), whole_and_wrong),
        (Answer::text("<a/><b/>"), whole_and_wrong),
        (Answer::Bytes(b"<a>caf\xe9</a>".to_vec()), whole_and_wrong),
        (Answer::Bytes(b"\xff\xfe<\0a\0/\0>\0".to_vec()), whole_and_wrong),
        (
            Answer::Bytes(b"<?xml version=\"1.0\" encoding=\"UTF-16\"?><a>caf\xe9</a>".to_vec()),
            whole_and_wrong,
        ),
        (Answer::Bytes(b"<a b=\"caf\xe9\"/>".to_vec()), whole_and_wrong),
        (Answer::Bytes(b"<a><!-- caf\xe9 --></a>".to_vec()), whole_and_wrong),
        (Answer::Bytes(b"<a><![CDATA[caf\xe9]]></a>".to_vec()), whole_and_wrong),
        (Answer::Bytes(b"<caf\xe9/>".to_vec()), whole_and_wrong),
        (Answer::text("<a>\u{1}</a>"), whole_and_wrong),
        (Answer::text("<a>&#1;</a>"), whole_and_wrong),
    ];
    let mut ids = Vec::new();
    for (n, (answer, _)) in (1..).zip(&all) {
        ids.push(hand_in(&world, &browser, n, answer.clone()).await);
    }
    for ((n, id), (answer, calls)) in (1..).zip(&ids).zip(&all) {
        let (status, error, called) = ended(&world, &browser, n, id).await;
        assert_eq!(
            (status.as_str(), error["code"].as_str()),
            ("failed", Some("GW_5XX")),
            "{answer:?} {error}"
        );
        assert_eq!(called, *calls, "{answer:?}");
        assert_eq!(browser.download(id).await.problem(), (409, "NOT_READY".to_owned()));
    }
    let right = hand_in(&world, &browser, 100, Answer::Right).await;
    browser.until(&right, "complete").await;
    assert_eq!(browser.download(&right).await.text(), right_answer(&sha256(&pdf(100)), "text"));
    assert_eq!(world.files("results").len(), 1, "nothing half-made stays");
}

/// Also covers: M34, T8.
async fn retry_after_is_kept_within_an_hour_and_nonsense_is_ignored(mut world: World) {
    world.without_breaker();
    let server = world.serve().await;
    let browser = server.browser();
    let far = "Fri, 06 Nov 2099 08:49:37 GMT";
    // What asks for time in earnest comes last: the fourth such answer holds the whole gateway.
    for (n, said, least, most) in [
        (1, "-1", 100, 5_000),
        (2, "soon", 100, 5_000),
        (3, "Sun, 06 Nov 1994 08:49:37 GMT", 100, 5_000),
        (5, "120", 120_000, 125_000),
        (6, "315360000", 3_600_000, 3_605_000),
        (7, far, 3_600_000, 3_605_000),
    ] {
        let answers = [Answer::retry_after(503, said), Answer::Right];
        world.gateway.say(Which::File(sha256(&pdf(n))), answers);
        let id = browser.hand_in(&pdf(n)).await;
        let attempts = eventually("an attempt", async || {
            let attempts = browser.attempts(&id).await;
            (!attempts.is_empty()).then_some(attempts)
        });
        let first = attempts.await.remove(0);
        // The short ones may have gone on meanwhile: then the next attempt tells.
        let again = match browser.job(&id).await["retry_after"].clone() {
            Value::Null => {
                let next = async || browser.attempts(&id).await.get(1).map(|next| next["started_at"].clone());
                eventually("the next attempt", next).await
            }
            due => due,
        };
        let waited = when(&again) - when(&first["ended_at"]);
        assert!((least..=most).contains(&waited), "{said:?}: {waited} ms, {first}");
    }
}

/// Also covers: M33, M34.
async fn a_gateway_that_throttles_costs_no_attempt(mut world: World) {
    world.set("RETRY_MAX_ATTEMPTS", 1);
    let server = world.serve().await;
    let browser = server.browser();
    let paper = pdf(1);
    world.gateway_says([Answer::retry_after(429, "1"), Answer::retry_after(429, "1"), Answer::Right]);
    let id = browser.hand_in(&paper).await;
    let job = browser.until(&id, "complete").await;
    assert_eq!((&job["attempt"], world.calls(&paper)), (&1.into(), 3));
    let calls = world.gateway.calls();
    for two in calls.windows(2) {
        let waited = two[1].began - two[0].began;
        assert!(waited.as_millis() >= 950, "it asked for a second and got {waited:?}");
    }
}
