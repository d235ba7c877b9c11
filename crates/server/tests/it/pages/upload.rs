//! The first page, and the form that works without script.

use super::reader::{BROWSER, Page, text, visit};
use crate::client::{Answer, Client, form};
use crate::world::{World, pdf};

async fn send(
    client: &mut Client,
    fields: &[(&str, Option<&str>, &[u8])],
    headers: &[(&str, &str)],
) -> Answer {
    let mut request = client
        .request("POST", "/upload")
        .header("content-type", "multipart/form-data; boundary=XX")
        .body(form(fields));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    client.send(request).await
}

#[tokio::test]
async fn limits_are_said_before_and_the_mappings_are_the_gateway_s() {
    let world = World::with(|setup| setup.limits.max_upload = 3 << 20).await;
    let page = visit(&mut world.client(), "/").await;
    let limits = page.text("#limits");
    for said in ["PDF only", "up to 3 MB each", "PDF for 7 days", "XML for 30 days", "Only this browser"] {
        assert!(limits.contains(said), "{said} in {limits}");
    }
    let options: Vec<(Option<&str>, String)> =
        page.all("#mapping option").into_iter().map(|option| (option.attr("value"), text(option))).collect();
    assert_eq!(options, [(Some("text"), "Text".to_owned()), (Some("alto"), "ALTO".to_owned())]);
    let form = page.one("#upload");
    assert_eq!((form.attr("action"), form.attr("enctype")), (Some("/upload"), Some("multipart/form-data")));
    assert_eq!(form.attr("data-too-large"), Some("File exceeds the limit of 3 MB."));
    assert!(page.one("#file").attr("multiple").is_some());
    // What is sent first stands first: the mapping is known when the files come.
    let order: Vec<_> =
        page.all("#upload [name]").into_iter().filter_map(|field| field.attr("name")).collect();
    assert_eq!(order, ["mapping", "file"]);
}

#[tokio::test]
async fn forty_files_in_one_plain_form_are_forty_jobs() {
    let world = World::start().await;
    let mut client = world.client();
    let files: Vec<(String, Vec<u8>)> = (0..40).map(|n| (format!("{n}.pdf"), pdf(n))).collect();
    let mut fields: Vec<(&str, Option<&str>, &[u8])> = vec![("mapping", None, b"alto")];
    fields.extend(files.iter().map(|(name, bytes)| ("file", Some(name.as_str()), bytes.as_slice())));
    let answer = send(&mut client, &fields, BROWSER).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/jobs")), "{}", answer.text());
    let jobs = client.get("/api/jobs").await.json();
    assert_eq!(jobs["jobs"].as_array().unwrap().len(), 40);
    assert!(jobs["jobs"].as_array().unwrap().iter().all(|job| job["mapping"] == "alto"));
}

#[tokio::test]
async fn each_file_of_a_form_is_taken_or_refused_for_itself() {
    let world = World::with(|setup| setup.limits.max_upload = 2_000).await;
    let mut client = world.client();
    let known = client.upload("known.pdf", &pdf(1), None).await.job_id();
    let large = [pdf(2), vec![b' '; 5_000]].concat();
    let (one, three) = (pdf(1), pdf(3));
    let fields: &[(&str, Option<&str>, &[u8])] = &[
        ("mapping", None, b"text"),
        ("file", Some("large <b>.pdf"), &large),
        ("file", Some("text.pdf"), b"hello"),
        ("file", Some("again.pdf"), &one),
        ("file", Some(""), b""),
        ("file", Some("good.pdf"), &three),
    ];
    let page = Page::read(send(&mut client, fields, BROWSER).await);
    assert_eq!((page.answer.status, page.text("h1").as_str()), (200, "2 of 4 files taken"));
    let lines: Vec<String> = page.all(".files li").into_iter().map(text).collect();
    assert!(lines[0].starts_with("large <b>.pdf File exceeds the limit of 2000 bytes."), "{lines:?}");
    assert!(lines[1].starts_with("text.pdf Only PDF files are supported."), "{lines:?}");
    assert!(lines[2].starts_with("again.pdf You have this already"), "{lines:?}");
    assert!(lines[3].starts_with("good.pdf Taken"), "{lines:?}");
    assert_eq!(page.all(&format!(".files a[href='/jobs/{known}']")).len(), 1);
    let jobs = client.get("/api/jobs").await.json();
    assert_eq!(jobs["counts"]["failed"], 2, "the refused ones are seen in the list too");
}

#[tokio::test]
async fn a_form_from_elsewhere_or_without_files_is_refused() {
    let world = World::start().await;
    let mut client = world.client();
    visit(&mut client, "/").await;
    let fields: &[(&str, Option<&str>, &[u8])] =
        &[("mapping", None, b"text"), ("file", Some("a.pdf"), &pdf(1))];
    for headers in [
        &[("sec-fetch-site", "cross-site"), ("accept", "text/html")][..],
        &[("origin", "http://evil.example"), ("accept", "text/html")],
        &[("origin", "null"), ("accept", "text/html")],
    ] {
        let page = Page::read(send(&mut client, fields, headers).await);
        assert_eq!(page.answer.status, 403, "{headers:?}");
    }
    // A browser on a plain address says only its origin.
    let origin = world.url.clone();
    let answer = send(&mut client, fields, &[("origin", &origin), ("accept", "text/html")]).await;
    assert_eq!(answer.status, 303, "{}", answer.text());
    for (fields, code) in [
        (&[("mapping", None, &b"text"[..]), ("file", Some(""), b"")][..], "VALIDATION_MISSING_FIELD"),
        (&[("mapping", None, b"nope"), ("file", Some("b.pdf"), b"")], "VALIDATION_UNKNOWN_MAPPING"),
        (&[("other", None, b"")], "VALIDATION_UNKNOWN_FIELD"),
    ] {
        let page = Page::read(send(&mut client, fields, BROWSER).await);
        assert_eq!((page.answer.status, page.text(".fine a").as_str()), (400, code));
    }
}

#[tokio::test]
async fn a_file_that_the_script_does_not_send_leaves_the_same_row_as_one_that_was_sent() {
    let world = World::with(|setup| setup.limits.max_upload = 2_000).await;
    let mut client = world.client();
    let large = [&pdf(1)[..], &[b' '; 3_000]].concat();
    let sent = client.form(&[("mapping", None, b"alto"), ("file", Some("sent.pdf"), &large)], &[]).await;
    let tell = |name: &str, mapping: &str, bytes: &str| {
        let text = format!("name={name}&mapping={mapping}&bytes={bytes}");
        (text, [("content-type", "application/x-www-form-urlencoded")])
    };
    let unsent = async |client: &mut Client, (body, headers): (String, [(&str, &str); 1])| {
        let request = client.request("POST", "/upload/unsent").body(body);
        client.send(request.header(headers[0].0, headers[0].1)).await
    };
    let answer = unsent(&mut client, tell("..%2Ftold%00.pdf", "alto", "3000000000")).await;
    assert_eq!(
        (answer.status, answer.code(), &answer.json()["detail"]),
        (413, sent.code(), &sent.json()["detail"])
    );
    let jobs = client.get("/api/jobs").await.json();
    let [told, sent] = [&jobs["jobs"][0], &jobs["jobs"][1]];
    assert_eq!(told["id"], answer.json()["job_id"]);
    assert_eq!((told["filename"].as_str(), told["bytes"].as_u64()), (Some("told.pdf"), Some(3_000_000_000)));
    for field in ["status", "error", "mapping", "can_retry", "attempt"] {
        assert_eq!(told[field], sent[field], "{field}");
    }
    // What could be sent is not refused unseen, and rubbish leaves nothing.
    for (told, code) in [
        (tell("a.pdf", "text", "2000"), "VALIDATION_INVALID_FIELD"),
        (tell("a.pdf", "nope", "5000"), "VALIDATION_UNKNOWN_MAPPING"),
        (tell("a.pdf", "text", "-1"), "VALIDATION_MALFORMED"),
        (tell("a.pdf", "text", "5000&owner=ann"), "VALIDATION_MALFORMED"),
    ] {
        let said = told.0.clone();
        assert_eq!(unsent(&mut client, told).await.code(), code, "{said}");
    }
    assert_eq!(client.get("/api/jobs").await.json()["jobs"].as_array().unwrap().len(), 2);
}
