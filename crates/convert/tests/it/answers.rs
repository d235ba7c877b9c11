//! What becomes of a job for every way in which a gateway can answer.

use redrive_convert::{Gateway, GatewayOptions};
use redrive_engine::Code;
use redrive_engine::model::State;
use url::Url;

use crate::bench::Bench;
use crate::gateway::{FakeGateway, Say};

#[tokio::test]
async fn a_pdf_becomes_xml_and_the_row_says_where_it_is() {
    let (bench, gateway) = (Bench::new().await, FakeGateway::start([Say::Xml("<a>ü</a>")]).await);
    let running = bench.start(bench.workload(&gateway.url));
    let id = bench.upload("one").await;
    let row = bench.ended(id).await;
    assert_eq!((row.state, row.attempt), (State::Complete, 1), "{row:#?}");
    let (made, xml) = bench.result(&row).await;
    assert_eq!((made.key, made.bytes, made.pages), (format!("{id}/1.xml"), 9, Some(2)));
    assert_eq!(
        (xml.as_str(), made.warnings),
        ("<a>ü</a>", vec!["repaired".to_owned()]),
        "odd words are left out"
    );
    let heard = gateway.heard().remove(0);
    assert_eq!(heard.headers["accept"], "application/xml");
    assert_eq!(heard.headers["idempotency-key"], format!("{id}-1"));
    let body = String::from_utf8_lossy(&heard.body).into_owned();
    assert!(body.contains("name=\"mapping\"\r\n\r\ntext") && body.contains("%PDF-1.7 not really"), "{body}");
    assert!(!body.contains("one.pdf"), "the name that a person gave stays here: {body}");
    running.drain().await;
}

/// The status, what is said besides, how often it is called, and what the job ends as.
///
/// Also covers: M31, M32, M33, M35.
#[tokio::test]
async fn every_answer_ends_as_its_code_says() {
    let problem = r#"{"code":"password_required","detail":"/home/secret/x.pdf needs one"}"#;
    for (say, calls, code, sentence) in [
        (Say::Status(400, &[], ""), 1, Code::Gw4xx, "Couldn’t convert"),
        (Say::Status(400, &[], problem), 1, Code::GwPasswordRequired, "opens only with a password"),
        (
            Say::Status(406, &[], r#"{"code":"unknown_mapping"}"#),
            1,
            Code::InvalidMapping,
            "Unsupported mapping",
        ),
        (Say::Status(415, &[], "<html>stack trace</html>"), 1, Code::Gw4xx, "Couldn’t convert"),
        (Say::Status(401, &[], ""), 1, Code::GwUnauthorized, "Couldn’t convert"),
        (Say::Status(500, &[], "boom at /srv/x.rs:3"), 3, Code::Gw5xx, "Converter service"),
        (Say::Status(503, &[], ""), 3, Code::GwUnavailable, "Converter service"),
        (Say::Status(504, &[], ""), 3, Code::Gw5xx, "Converter service"),
        (
            Say::Status(302, &[("location", "http://127.0.0.1:1/")], ""),
            1,
            Code::GwBadResponse,
            "Converter service",
        ),
        (Say::Status(204, &[], ""), 1, Code::GwBadResponse, "Converter service"),
        (Say::Xml(""), 3, Code::GwTruncated, "Converter service"),
        (Say::Xml("<a><b></b>"), 3, Code::GwTruncated, "Converter service"),
        (Say::Cut("<a>"), 3, Code::GwTruncated, "Converter service"),
        (Say::Xml("{}"), 1, Code::GwBadResponse, "Converter service"),
        (Say::Xml("<!DOCTYPE a><a/>"), 1, Code::GwBadResponse, "Converter service"),
        (Say::Flood(4 << 20), 1, Code::GwResponseTooLarge, "Converter service"),
        (Say::Silence, 3, Code::GwTimeout, "taking too long"),
    ] {
        let what = format!("{say:?}");
        let (bench, gateway) = (Bench::new().await, FakeGateway::start([say]).await);
        let running = bench.start(bench.workload(&gateway.url));
        let id = bench.upload("one").await;
        let row = bench.ended(id).await;
        assert_eq!((row.state, row.failure_code), (State::Failed, Some(code)), "{what} {row:#?}");
        let attempts = bench.engine.attempts(id).await.unwrap();
        assert_eq!((attempts.len(), gateway.heard().len()), (calls, calls), "{what}");
        assert!(attempts.iter().all(|a| a.code == Some(code)), "{what} {attempts:#?}");
        let said = row.failure_message.unwrap();
        assert!(said.contains(sentence), "{what}: {said}");
        assert!(
            !said.contains("/srv") && !said.contains("/home") && !said.contains("stack"),
            "{what}: {said}"
        );
        assert_eq!(bench.results().await, [] as [String; 0], "{what}: nothing half-made stays");
        running.drain().await;
    }
}

#[tokio::test]
async fn nobody_there_is_unavailable_and_the_url_is_not_told() {
    let bench = Bench::new().await;
    let running = bench.start(bench.workload(&Url::parse("http://ann:secret@127.0.0.1:1/").unwrap()));
    let id = bench.upload("one").await;
    bench.ended(id).await;
    for attempt in bench.engine.attempts(id).await.unwrap() {
        assert_eq!(attempt.code, Some(Code::GwUnavailable));
        assert!(!attempt.message.unwrap().contains("secret"));
    }
    running.drain().await;
}

#[tokio::test]
async fn a_gateway_that_recovers_is_used_again_within_the_same_job() {
    let say = [Say::Status(502, &[], ""), Say::Cut("<a>"), Say::Xml("<a/>")];
    let (bench, gateway) = (Bench::new().await, FakeGateway::start(say).await);
    let running = bench.start(bench.workload(&gateway.url));
    let id = bench.upload("one").await;
    let row = bench.ended(id).await;
    assert_eq!((row.state, row.attempt), (State::Complete, 3));
    assert_eq!(bench.results().await, [format!("{id}/3.xml")]);
    let keys: Vec<_> = gateway.heard().iter().map(|h| h.headers["idempotency-key"].clone()).collect();
    assert!(keys.iter().all(|key| *key == keys[0]), "one thing, one key: {keys:?}");
    running.drain().await;
}

#[tokio::test]
async fn a_source_that_is_gone_fails_at_once_and_cannot_be_retried() {
    let (bench, gateway) = (Bench::new().await, FakeGateway::start([Say::Xml("<a/>")]).await);
    let id = bench.upload("one").await;
    std::fs::remove_file(bench.home().join("uploads").join(format!("{id}.pdf"))).unwrap();
    let running = bench.start(bench.workload(&gateway.url));
    let row = bench.ended(id).await;
    assert_eq!((row.state, row.failure_code, row.attempt), (State::Failed, Some(Code::SourceMissing), 1));
    assert_eq!(gateway.heard().len(), 0);
    let refused = bench.engine.retry(vec![id], &redrive_engine::By::new("ann")).await.unwrap_err();
    assert!(
        matches!(refused, redrive_engine::EngineError::Refused { code: Code::SourceMissing, .. }),
        "{refused:?}"
    );
    running.drain().await;
}

#[tokio::test]
async fn the_list_of_mappings_is_read() {
    let gateway = FakeGateway::start([]).await;
    let options = |url: &Url| GatewayOptions {
        url: url.clone(),
        timeout: std::time::Duration::from_secs(1),
        max_response: 1,
    };
    let names: Vec<String> = Gateway::new(options(&gateway.url))
        .unwrap()
        .mappings()
        .await
        .unwrap()
        .into_iter()
        .map(|m| m.name)
        .collect();
    assert_eq!(names, ["text", "alto"]);
    let nobody = Gateway::new(options(&Url::parse("http://127.0.0.1:1/").unwrap())).unwrap();
    assert_eq!(nobody.mappings().await.unwrap_err().code, Code::GwUnavailable);
    assert!(Gateway::new(options(&Url::parse("file:///etc/passwd").unwrap())).is_err());
}
