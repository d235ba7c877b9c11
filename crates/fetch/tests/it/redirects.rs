//! Redirects: followed by hand, few, judged, and without what belongs to another host.

use redrive_engine::Code;
use redrive_engine::store::AttemptRow;
use redrive_fetch::DownloadOptions;
use redrive_lab::origin::{Answer, Origin, body_of, certificate};

use crate::bench::{Bench, quick, resource};

#[tokio::test]
async fn five_are_followed_and_a_sixth_or_a_circle_is_not() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    for n in 1..=6 {
        let status = [301, 302, 303, 307, 308, 302][n - 1];
        origin.say(&format!("/{n}"), [Answer::redirect(status, &format!("/{}", n + 1))]);
    }
    let row = bench.fetch(&origin.url("/2")).await;
    assert_eq!(bench.stored(&row).await.1, body_of("/7"));
    let (code, attempts) = bench.fails(&resource(&origin.url("/1"))).await;
    assert_eq!((code, attempts.len(), origin.count("/7")), (Code::DownloadRedirectLoop, 1, 1));
    let message = |attempts: &[AttemptRow]| attempts[0].message.clone().unwrap();
    assert!(message(&attempts).ends_with(": more than 5 redirects"), "{attempts:?}");
    origin.say("/self", [Answer::redirect(302, "/self")]);
    origin.say("/there", [Answer::redirect(302, "/back")]);
    origin.say("/back", [Answer::redirect(302, &origin.url("/there#again"))]);
    for path in ["/self", "/there"] {
        let (code, attempts) = bench.fails(&resource(&origin.url(path))).await;
        assert_eq!((code, attempts.len(), origin.count(path)), (Code::DownloadRedirectLoop, 1, 1), "{path}");
        assert!(message(&attempts).ends_with(": redirects form a loop"), "{attempts:?}");
    }
    running.drain().await;
}

#[tokio::test]
async fn what_fails_behind_redirects_says_which_one_led_to_which_host() {
    let (bench, front) = (Bench::new().await, Origin::start().await.unwrap());
    let back = Origin::start().await.unwrap();
    let running = bench.start();
    front.say("/a", [Answer::redirect(302, "/b")]);
    front.say("/b", [Answer::redirect(302, &back.url("/c?sig=SECRET"))]);
    back.say("/c?sig=SECRET", [Answer::status(404)]);
    let (code, attempts) = bench.fails(&resource(&front.url("/a"))).await;
    assert_eq!((code, attempts.len()), (Code::DownloadHttp4xx, 1));
    let message = format!("GET {} (redirect 2): status 404", back.url("/c?sig=***"));
    assert_eq!(attempts[0].message.as_deref(), Some(message.as_str()));
    let context: serde_json::Value = serde_json::from_str(attempts[0].context.as_deref().unwrap()).unwrap();
    let host = back.address().to_string();
    let told = serde_json::json!({"attempt": 1, "proxy": null, "status": 404, "host": host, "hop": 2});
    assert_eq!(context, told);
    // What fails at once tells nothing of redirects.
    front.say("/gone", [Answer::status(404)]);
    let (_, attempts) = bench.fails(&resource(&front.url("/gone"))).await;
    let context = attempts[0].context.as_deref().unwrap();
    assert!(!context.contains("hop") && !context.contains("host"), "{context}");
    running.drain().await;
}

#[tokio::test]
async fn where_a_redirect_must_not_lead_it_does_not() {
    let (bench, origin) = (Bench::new().await, Origin::start().await.unwrap());
    let running = bench.start();
    for (path, to, code, requests) in [
        ("/file", "file:///etc/passwd", Code::DownloadInvalidUrl, 1),
        ("/user", "http://a:b@127.0.0.1/", Code::DownloadInvalidUrl, 1),
        ("/nonsense", "http://[", Code::DownloadInvalidUrl, 1),
        ("/nowhere", "", Code::DownloadRedirectLoop, 1),
    ] {
        origin.say(path, [Answer::redirect(302, to)]);
        let (found, attempts) = bench.fails(&resource(&origin.url(path))).await;
        assert_eq!((found, attempts.len(), origin.count(path)), (code, 1, requests), "{path}");
    }
    origin.say("/without", [Answer::status(302)]);
    assert_eq!(bench.fails(&resource(&origin.url("/without"))).await.0, Code::DownloadBadResponse);
    running.drain().await;
}

#[tokio::test]
async fn https_is_never_left() {
    let (bench, plain) = (Bench::new().await, Origin::start().await.unwrap());
    let origin = Origin::start_tls().await.unwrap();
    let running = bench.start_with(DownloadOptions { roots: vec![certificate()], ..quick() });
    origin.say("/down", [Answer::redirect(302, &plain.url("/a"))]);
    assert_eq!(bench.fails(&resource(&origin.url("/down"))).await.0, Code::DownloadInvalidUrl);
    assert_eq!(plain.requests(), 0);
    plain.say("/up", [Answer::redirect(302, &origin.url("/a"))]);
    let row = bench.fetch(&plain.url("/up")).await;
    assert_eq!(bench.stored(&row).await.1, body_of("/a"));
    running.drain().await;
}

#[tokio::test]
async fn credentials_stay_with_the_host_that_they_are_for() {
    let (bench, one) = (Bench::new().await, Origin::start().await.unwrap());
    let other = Origin::start().await.unwrap();
    let running = bench.start();
    one.say("/a", [Answer::redirect(302, "/b")]);
    one.say("/b", [Answer::redirect(302, &other.url("/c"))]);
    other.say("/c", [Answer::redirect(302, &one.url("/d"))]);
    let mut wanted = resource(&one.url("/a"));
    for (name, value) in [
        ("Authorization", "Bearer x"),
        ("Cookie", "a=b"),
        ("X-Api-Key", "k"),
        ("Accept", "image/*"),
        ("User-Agent", "me"),
    ] {
        wanted.headers.insert(name.into(), value.into());
    }
    let row = bench.ended(bench.enqueue(&wanted).await).await;
    bench.stored(&row).await;
    let said = |origin: &Origin, path: &str| {
        let request = origin.heard(path).remove(0).request;
        ["authorization", "cookie", "x-api-key", "accept", "user-agent"]
            .map(|name| request.header(name).unwrap_or("-").to_owned())
            .join(" ")
    };
    assert_eq!(said(&one, "/a"), "Bearer x a=b k image/* me");
    assert_eq!(said(&one, "/b"), "Bearer x a=b k image/* me");
    assert_eq!(said(&other, "/c"), "- - - image/* me");
    assert_eq!(said(&one, "/d"), "- - - image/* me", "whoever led us back must not use them");
    running.drain().await;
}
