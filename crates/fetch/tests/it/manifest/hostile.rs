//! Manifests that are wrong: each is refused with a code and the place, and leaves nothing.

use std::convert::Infallible;

use redrive_engine::Code;
use redrive_fetch::{AcceptError, Format, ManifestLimits, ManifestProblems, Shape, Spot};

use super::kit::{JSON, Kit, NDJSON, gzip, lines, of_ann, pieces, stores, tight};

async fn refused(kit: &Kit, body: &[u8], shape: Shape) -> ManifestProblems {
    let mut answers = Vec::new();
    for piece in [1, 7, 100_000] {
        match kit.manifests.accept::<_, Infallible>(pieces(body, piece), shape, of_ann(None)).await {
            Err(AcceptError::Refused(problems)) => answers.push(problems),
            other => panic!("{other:?} for {}", String::from_utf8_lossy(body)),
        }
    }
    answers.dedup();
    assert_eq!(answers.len(), 1, "the same whatever the pieces: {answers:?}");
    assert_eq!((kit.kept().await, kit.temps()), (0, 0));
    answers.remove(0)
}

#[tokio::test]
async fn what_is_wrong_with_a_document_is_named_by_code_place_and_field() {
    let kit = Kit::new().await;
    let one = |resource: &str| format!(r#"{{"manifest_version":1,"resources":[{resource}]}}"#);
    let good = r#"{"id":"a","url":"https://a.example/"}"#;
    let with = |field: &str| format!(r#"{{"manifest_version":1,{field},"resources":[{good}]}}"#);
    for (body, code, said) in [
        (String::new(), Code::ValidationMalformed, "ends too early at column 0"),
        ("{".into(), Code::ValidationMalformed, "ends too early at column 1"),
        ("[1]".into(), Code::ValidationMalformed, "must be an object of at most 64 fields"),
        ("{\"a\":\n1,,}".into(), Code::ValidationMalformed, "is not valid JSON at line 2 column 3"),
        (format!("{} x", one(good)), Code::ValidationMalformed, "is not valid JSON at column 76"),
        (
            format!("{{\"resources\":[{good}]}}"),
            Code::ValidationMissingField,
            "manifest_version: is missing: it is 1",
        ),
        (
            format!("{{\"manifest_version\":2,\"resources\":[{good}]}}"),
            Code::ValidationUnsupportedVersion,
            "manifest_version: only 1 is known",
        ),
        ("{\"manifest_version\":1}".into(), Code::ValidationMissingField, "resources: is missing"),
        (one(""), Code::ValidationMissingField, "resources: there is not a single resource"),
        (
            "{\"manifest_version\":1,\"resources\":{}}".into(),
            Code::ValidationInvalidField,
            "resources: must be an array",
        ),
        (with("\"speed\":3"), Code::ValidationUnknownField, "speed: there is no such field"),
        (with("\"to\":3"), Code::ValidationInvalidField, "to: must be a string"),
        (
            with("\"to\":\"/etc\""),
            Code::ValidationDestination,
            "to: lies neither under the server's FETCH_TO nor under a place that its operator listed",
        ),
        (
            with("\"to\":\"../x\""),
            Code::ValidationDestination,
            "to: is not a usable prefix: a segment is . or ..",
        ),
        (
            with("\"proxy_pool\":\"us\""),
            Code::ValidationInvalidField,
            "proxy_pool: there is no pool of this name",
        ),
        (with("\"end_rule\":\"lax\""), Code::ValidationInvalidField, "end_rule: must be strict or tolerant"),
        (with("\"metadata\":[]"), Code::ValidationInvalidField, "metadata: must be an object"),
        (with("\"metadata\":{},\"metadata\":{}"), Code::ValidationInvalidField, "metadata: is given twice"),
        (one("7"), Code::ValidationMalformed, "resources[0]: must be an object of at most 64 fields"),
        (
            one(r#"{"url":"https://a.example/"}"#),
            Code::ValidationMissingField,
            "resources[0]: id: is missing",
        ),
        (one(r#"{"id":"a"}"#), Code::ValidationMissingField, "resources[0]: url: is missing"),
        (
            one(r#"{"id":7,"url":"https://a.example/"}"#),
            Code::ValidationInvalidField,
            "resources[0]: id: must be a string",
        ),
        (
            one(r#"{"id":"a","url":"https://a.example/","size":7}"#),
            Code::ValidationUnknownField,
            "resources[0]: size: there is no such field",
        ),
        (
            one(r#"{"id":"a","id":"b","url":"https://a.example/"}"#),
            Code::ValidationInvalidField,
            "resources[0]: id: is given twice",
        ),
        (
            one(&format!("{good},{good}")),
            Code::ValidationDuplicateId,
            "resources[1]: id: another resource before it has the same",
        ),
        (
            one(r#"{"id":"a","url":"https://a.example/","sha256":"abc"}"#),
            Code::ValidationInvalidField,
            "resources[0]: sha256: must be 64 hexadecimal digits",
        ),
        (
            one(r#"{"id":"a","url":"https://a.example/","tags":{"a":1}}"#),
            Code::ValidationInvalidField,
            "resources[0]: tags: must be an object of strings",
        ),
        (
            one(r#"{"id":"a","url":"https://a.example/","headers":{"A":"1","a":"2"}}"#),
            Code::ValidationInvalidField,
            "resources[0]: headers: \"a\" is given twice",
        ),
        (
            one(r#"{"id":"a","url":"https://a.example/","headers":{"host":"b"}}"#),
            Code::ValidationInvalidField,
            "resources[0]: headers: host is set by us",
        ),
        (
            one(r#"{"id":"a\n","url":"https://a.example/"}"#),
            Code::ValidationInvalidField,
            "resources[0]: id: control characters are not allowed",
        ),
    ] {
        let problems = refused(&kit, body.as_bytes(), JSON).await;
        assert_eq!((problems.code(), problems.problems[0].to_string().as_str()), (code, said), "{body}");
    }
    for url in
        ["ftp://a.example/", "http://127.0.0.1/", "http://[::1]/", "https://u:p@a.example/", "a.example", ""]
    {
        let body = one(&format!(r#"{{"id":"a","url":"{url}"}}"#));
        let problems = refused(&kit, body.as_bytes(), JSON).await;
        assert_eq!(problems.code(), Code::ValidationInvalidField, "{url}");
        assert!(problems.to_string().starts_with("resources[0]: url: "), "{problems}");
    }
}

#[tokio::test]
async fn what_is_wrong_with_lines_is_named_by_line_up_to_a_small_number() {
    let kit = Kit::new().await;
    let body = concat!(
        "{\"id\":\"a\",\"url\":\"https://a.example/\"}\r\n",
        "\n",
        "{\"id\":\"b\"}\n",
        "nonsense\n",
        "{\"id\":\"a\",\"url\":\"https://a.example/\"}\n",
        "{\"manifest_version\":1}\n",
        "{\"id\":\"c\",\"url\":\"https://a.example/\"}",
    );
    let problems = refused(&kit, body.as_bytes(), NDJSON).await;
    assert_eq!(problems.code(), Code::ValidationMissingField);
    assert_eq!(
        problems.to_string(),
        "line 3: url: is missing; line 4: is not valid JSON at column 2; line 5: id: another resource before it has the same; \
         line 6: id: is missing"
    );
    let many = refused(&kit, "{}\n".repeat(1_000).as_bytes(), NDJSON).await;
    assert_eq!(many.problems.len(), 20);
    for (body, code, said) in [
        (&b""[..], Code::ValidationMissingField, "resources: there is not a single resource"),
        (b"\n \n", Code::ValidationMissingField, "resources: there is not a single resource"),
        (
            b"{\"manifest_version\":1}\n",
            Code::ValidationMissingField,
            "resources: there is not a single resource",
        ),
        (
            b"{\"manifest_version\":9}",
            Code::ValidationUnsupportedVersion,
            "line 1: manifest_version: only 1 is known",
        ),
        (
            b"{\"manifest_version\":1,\"a\":2}",
            Code::ValidationUnknownField,
            "line 1: a: there is no such field",
        ),
        (b"\xff\xfe\n", Code::ValidationMalformed, "line 1: is not valid UTF-8 after byte 0"),
        (b"{\"id\":\"\xff\"}", Code::ValidationMalformed, "line 1: is not valid UTF-8 after byte 7"),
    ] {
        let problems = refused(&kit, body, NDJSON).await;
        let first = problems.problems[0].to_string();
        assert_eq!((problems.code(), first.as_str()), (code, said), "{}", String::from_utf8_lossy(body));
    }
    let document = refused(&kit, b"{\"manifest_version\":1,\"resources\":[]}", NDJSON).await;
    assert!(document.to_string().contains("application/json"), "{document}");
}

#[tokio::test]
async fn what_is_too_much_is_refused_before_it_is_held() {
    let limits = ManifestLimits {
        json_resources: 3,
        json_bytes: 1_000,
        resources: 5,
        line_bytes: 200,
        encoded_bytes: 4_000,
        decoded_bytes: 20_000,
        ..ManifestLimits::default()
    };
    let store = stores().await.remove(0);
    let kit =
        Kit::with(store, std::sync::Arc::new(redrive_blob::Seamless), |options| tight(options, limits)).await;
    let four: Vec<String> =
        (0..4).map(|n| format!("{{\"id\":\"{n}\",\"url\":\"https://a.example/\"}}")).collect();
    let document = format!("{{\"manifest_version\":1,\"resources\":[{}]}}", four.join(","));
    let long = format!("{{\"id\":\"{}\",\"url\":\"https://a.example/\"}}\n", "x".repeat(200));
    let bomb = gzip(&vec![b' '; 10 << 20]);
    let packed = |format| Shape { format, gzip: true };
    let broken = &gzip(lines(5).as_bytes())[..60];
    for (body, shape, code, said) in [
        (
            document.as_bytes(),
            JSON,
            Code::ValidationTooMany,
            "resources: a JSON document has at most 3: send more as NDJSON, one a line",
        ),
        (
            &[b' '; 1_001],
            JSON,
            Code::ValidationTooLarge,
            "a JSON document is larger than 1000 bytes: send more as NDJSON, one resource a line",
        ),
        (lines(6).as_bytes(), NDJSON, Code::ValidationTooMany, "line 6: a manifest has at most 5 resources"),
        (long.as_bytes(), NDJSON, Code::ValidationTooLarge, "line 1: is longer than 200 bytes"),
        (&long.as_bytes()[..210], NDJSON, Code::ValidationTooLarge, "line 1: is longer than 200 bytes"),
        (&[b'\n'; 5_000], NDJSON, Code::ValidationTooLarge, "the body is larger than 4000 bytes"),
        (&bomb, packed(Format::Ndjson), Code::ValidationTooLarge, "line 1: is longer than 200 bytes"),
        (
            &bomb[..3_000],
            packed(Format::Json),
            Code::ValidationTooLarge,
            "a JSON document is larger than 1000 bytes: send more as NDJSON, one resource a line",
        ),
        (
            &gzip(&vec![b'\n'; 30_000]),
            packed(Format::Ndjson),
            Code::ValidationTooLarge,
            "the unpacked body is larger than 20000 bytes",
        ),
        (
            broken,
            packed(Format::Ndjson),
            Code::ValidationMalformed,
            "the body is not valid gzip, is damaged or breaks off",
        ),
        (
            lines(5).as_bytes(),
            packed(Format::Ndjson),
            Code::ValidationMalformed,
            "the body is not valid gzip, is damaged or breaks off",
        ),
    ] {
        let problems = refused(&kit, body, shape).await;
        let first = problems.problems[0].to_string();
        assert!(problems.code() == code && first == said, "{first} ({}), expected {said}", problems.code());
    }
    kit.accept(&lines(5), NDJSON, of_ann(None)).await.unwrap();
}

#[tokio::test]
async fn a_resource_that_no_line_can_hold_is_refused_at_the_door_by_its_field() {
    let kit = Kit::new().await;
    let pairs = |value: &str| -> serde_json::Value {
        (0..64).map(|n| (n.to_string(), value.into())).collect::<serde_json::Map<_, _>>().into()
    };
    let long = "x".repeat(8_000);
    let (tagged, headed) = (pairs(&long), pairs(&long));
    for (tags, headers, field) in [(tagged.clone(), pairs("y"), "tags"), (tagged, headed, "headers")] {
        let fine = serde_json::json!({"id": "0", "url": "https://a.example/"});
        let resource =
            serde_json::json!({"id": "1", "url": "https://a.example/", "tags": tags, "headers": headers});
        let text = serde_json::json!({"manifest_version": 1, "resources": [fine, resource]}).to_string();
        let Err(AcceptError::Refused(problems)) = kit.accept(&text, JSON, of_ann(None)).await else {
            panic!("{field}")
        };
        let [problem] = problems.problems.as_slice() else { panic!("{problems}") };
        assert_eq!((problem.code, problem.spot), (Code::ValidationTooLarge, Spot::Resource(1)), "{problem}");
        assert_eq!(problem.field.as_deref(), Some(field));
        assert_eq!(kit.kept().await, 0);
    }
}
