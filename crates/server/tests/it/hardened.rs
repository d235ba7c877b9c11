//! What strangers may find: no door but those of the tables, no other site let in, the same headers everywhere, no list without an end.

use redrive_server::{page_routes, routes};

use crate::client::Client;
use crate::world::{World, eventually, pdf};

/// What people who look for open doors try first.
const GUESSES: &[&str] = &[
    "/metrics",
    "/admin",
    "/admin/",
    "/debug",
    "/debug/pprof",
    "/debug/pprof/heap",
    "/debug/vars",
    "/actuator",
    "/actuator/env",
    "/server-status",
    "/console",
    "/.env",
    "/.git/config",
    "/redrive.toml",
    "/redrive.db",
    "/server.json",
    "/data/redrive.db",
    "/redrive-data/redrive.db",
    "/uploads",
    "/uploads/",
    "/results",
    "/manifests",
    "/fetched",
    "/assets/",
    "/assets/../redrive.db",
    "/assets/..%2f..%2fredrive.db",
    "/assets/%2e%2e/redrive.db",
    "//etc/passwd",
    "/..%2f..%2fetc%2fpasswd",
    "/%00",
    "/api",
    "/api/",
    "/api/metrics",
    "/api/secrets",
    "/api/debug",
    "/graphql",
    "/swagger",
    "/phpmyadmin",
    "/wp-login.php",
];

#[tokio::test]
async fn whoever_scans_the_public_port_finds_nothing_but_the_tables() {
    let world = World::start().await;
    let mut ann = world.client();
    world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    // Files lie below these names; none of them is served by its name.
    let mut guesses: Vec<String> = GUESSES.iter().map(|path| (*path).to_owned()).collect();
    for folder in ["uploads", "results"] {
        for file in world.files(folder) {
            let below = file.strip_prefix(world.folder.path()).unwrap().display().to_string();
            guesses.push(format!("/{below}"));
            guesses.push(format!("/api/{below}"));
        }
    }
    assert!(guesses.len() > GUESSES.len() + 2);
    for client in [&mut ann, &mut world.client()] {
        for path in &guesses {
            let answer = client.get(path).await;
            assert_eq!(
                (answer.status, answer.code().as_str()),
                (404, "NOT_FOUND"),
                "{path}: {}",
                answer.text()
            );
        }
    }
    for path in ["/healthz", "/readyz"] {
        let answer = world.client().get(path).await;
        assert!(answer.status == 200 && answer.text().len() < 40, "{path} says {}", answer.text());
    }
    for method in ["TRACE", "CONNECT", "PROPFIND", "PATCH"] {
        let answer = world.client().ask(method, "/api/jobs", &[]).await;
        assert!(matches!(answer.status, 400 | 404 | 405), "{method}: {}", answer.status);
    }
}

/// No answer lets another site read anything, whatever it asks and however it introduces itself.
#[tokio::test]
async fn no_other_site_is_let_in() {
    let world = World::with(|setup| setup.limits.rates.address_factor = 1_000.0).await;
    let operator = world.operator();
    for route in routes().into_iter().chain(page_routes()) {
        if route.path == "/live" || route.path == "/api/events/stream" {
            continue;
        }
        let path = route.path.replace("{id}", "x").replace("{code}", "FORBIDDEN");
        for origin in ["https://evil.example", "null", "http://127.0.0.1"] {
            let preflight = [
                ("origin", origin),
                ("access-control-request-method", route.method.as_str()),
                ("access-control-request-headers", "authorization"),
                ("access-control-request-private-network", "true"),
            ];
            for (method, headers) in [("OPTIONS", &preflight[..]), (route.method.as_str(), &preflight[..1])] {
                let answer = operator.clone().ask(method, &path, headers).await;
                let opened: Vec<&str> = answer
                    .headers
                    .keys()
                    .map(|name| name.as_str())
                    .filter(|name| name.starts_with("access-control"))
                    .collect();
                assert!(opened.is_empty(), "{method} {path} from {origin}: {opened:?}");
                assert!(method != "OPTIONS" || answer.status == 405, "{path}: {}", answer.status);
            }
        }
    }
}

/// Every kind of answer, and the headers that it must have. What is not named here must not be there, but for what each request has of its own.
#[tokio::test]
async fn answers_of_each_kind_have_exactly_their_headers() {
    let world = World::start().await;
    let mut ann = world.client();
    let job = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let page = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let plain = "default-src 'none'; frame-ancestors 'none'";
    let always = [("x-content-type-options", "nosniff"), ("referrer-policy", "same-origin")];
    let html = [
        ("content-type", "text/html; charset=utf-8"),
        ("content-security-policy", page),
        ("cache-control", "no-store"),
        ("vary", "HX-Request"),
    ];
    let json = [
        ("content-type", "application/json"),
        ("content-security-policy", plain),
        ("cache-control", "no-store"),
    ];
    let problem = [
        ("content-type", "application/problem+json"),
        ("content-security-policy", plain),
        ("cache-control", "no-store"),
    ];
    let download = [
        ("content-type", "application/xml"),
        ("content-security-policy", "sandbox; default-src 'none'"),
        ("content-disposition", "attachment; filename=\"a.xml\"; filename*=UTF-8''a.xml"),
        ("accept-ranges", "bytes"),
    ];
    for (path, accept, status, expected) in [
        ("/jobs".to_owned(), "text/html", 200, &html[..]),
        (format!("/jobs/{job}"), "text/html", 200, &html),
        ("/nothing".to_owned(), "text/html", 404, &html),
        ("/api/jobs".to_owned(), "*/*", 200, &json),
        (format!("/api/jobs/{job}"), "*/*", 200, &json),
        ("/api/nothing".to_owned(), "*/*", 404, &problem),
        (format!("/api/jobs/{job}/download"), "*/*", 200, &download),
    ] {
        let answer = ann.ask("GET", &path, &[("accept", accept)]).await;
        assert_eq!(answer.status, status, "{path}");
        for (name, value) in always.iter().chain(expected) {
            assert_eq!(answer.header(name), Some(*value), "{path}: {name}");
        }
        let own = [
            "x-request-id",
            "date",
            "content-length",
            "transfer-encoding",
            "etag",
            "last-modified",
            "cache-control",
            "connection",
        ];
        for name in answer.headers.keys().map(|name| name.as_str()) {
            let known = always.iter().chain(expected).any(|(known, _)| *known == name) || own.contains(&name);
            assert!(known, "{path} has a header that nobody expects: {name}: {:?}", answer.header(name));
        }
    }
}

/// However many are asked for, a page is a page; what cannot be meant is refused and never an error of ours.
#[tokio::test]
async fn no_list_is_without_an_end() {
    let world = World::with(|setup| {
        (setup.works, setup.limits.rates.address_factor) = (false, 1_000.0);
    })
    .await;
    let mut operator = world.operator();
    for n in 0..230 {
        assert_eq!(operator.upload("a.pdf", &pdf(n), None).await.status, 201);
    }
    let huge = [
        "limit=1000000000",
        "limit=18446744073709551615",
        "limit=99999999999999999999",
        "limit=-1",
        "limit=0",
        "limit=x",
    ];
    let odd = [
        "page=1000000000",
        "offset=1000000000",
        "cursor=%00",
        "cursor=999999999999999999999",
        "cursor=%27%20OR%201=1",
    ];
    let long = format!("q={}", "x".repeat(20_000));
    let lists = [
        "/api/jobs",
        "/api/dead-letters",
        "/api/groups",
        "/api/audit",
        "/api/deliveries",
        "/api/intake/documents",
        "/api/failure-records",
        "/api/fetch",
        "/api/replays",
        "/api/breakers",
        "/api/breakers/history",
        "/api/workers",
        "/jobs",
        "/dead",
        "/audit",
        "/failure-records",
        "/fetch",
        "/replays",
        "/breakers",
        "/workers",
    ];
    for list in lists {
        for question in huge.iter().chain(&odd).copied().chain([long.as_str()]) {
            let answer = operator.get(&format!("{list}?{question}")).await;
            let short = &question[..question.len().min(40)];
            assert!(
                matches!(answer.status, 200 | 400),
                "{list}?{short}: {} {}",
                answer.status,
                answer.text()
            );
            assert!(answer.body.len() < 2 << 20, "{list}?{short} is {} bytes", answer.body.len());
        }
    }
    let page = operator.get("/api/jobs?limit=1000000000").await.json();
    assert_eq!(page["jobs"].as_array().unwrap().len(), 200, "a page at most");
    assert!(page["next_cursor"].is_string());
}

/// What a gateway says about a file is told as the registry's sentence, short and clean, whatever it was.
#[tokio::test]
async fn nothing_that_a_gateway_shouts_reaches_people() {
    let world = World::start().await;
    let (mut ann, mut operator) = (world.client(), world.operator());
    // One that is cut short, and one that is kept as it is.
    for (n, long) in [(1, 50_000), (2, 10)] {
        let shout = format!(
            r#"{{"code":"invalid_pdf","detail":"\u001b[31mTraceback (most recent call last):\n File \"/srv/gw/app.py\"\u0000<script>alert(1)</script>\u202e{}"}}"#,
            "x".repeat(long)
        );
        world.gateway.shouts(shout);
        let id = ann.upload("a.pdf", &pdf(n), None).await.job_id();
        world.ended(&id).await;
        let path = format!("/api/jobs/{id}");
        let job = ann.get(&path).await.json();
        let message = job["error"]["message"].as_str().unwrap();
        assert!(message.chars().count() <= 200, "{message}");
        let looks =
            [path.clone(), format!("{path}/attempts"), format!("{path}/explain"), format!("/jobs/{id}")];
        for path in &looks {
            for client in [&mut ann, &mut operator] {
                let text = client.get(path).await.text();
                for inside in
                    ["\u{1b}", "\\u001b", "\\u0000", "<script>alert(1)</script></", "\u{202e}", "\\u202e"]
                {
                    assert!(!text.contains(inside), "{path}: {inside:?} in {text}");
                }
            }
            // To its owner it is the registry's sentence.
            let text = ann.get(path).await.text();
            assert!(!text.contains("Traceback") && !text.contains("/srv/gw"), "{path}: {text}");
        }
    }
}

/// "Not yours" and "not there" are the same, a thousand times each.
#[tokio::test]
async fn a_thousand_ids_of_others_look_like_a_thousand_that_do_not_exist() {
    let world = World::with(|setup| {
        setup.works = false;
        setup.limits.rates.address_factor = 1_000.0;
        setup.limits.rates.look.burst = 10_000.0;
    })
    .await;
    let (mut ann, mut bob) = (world.client(), world.client());
    bob.get("/api/jobs").await;
    let theirs = ann.upload("a.pdf", &pdf(1), None).await.job_id();
    let shape = |answer: crate::client::Answer| {
        let mut json = answer.json();
        json["request_id"] = "".into();
        let names: Vec<String> = answer.headers.keys().map(ToString::to_string).collect();
        (answer.status, json.to_string(), names)
    };
    let expected = shape(bob.get(&format!("/api/jobs/{theirs}")).await);
    assert_eq!(expected.0, 403);
    for n in 0..1_000u32 {
        // Ids that differ from a real one only in their last digits, and the real one again.
        let guess = format!("{}{:06x}", &theirs[..theirs.len() - 6], n * 7919 % 0x00ff_ffff);
        for id in [theirs.as_str(), &guess] {
            assert_eq!(shape(bob.get(&format!("/api/jobs/{id}")).await), expected, "{id}");
        }
    }
}

/// A request that nobody waits for leaves nothing half done.
#[tokio::test]
async fn connections_that_are_dropped_at_random_leave_whole_jobs_or_none() {
    use tokio::io::AsyncWriteExt;
    let world = World::with(|setup| setup.works = false).await;
    let address = world.url.strip_prefix("http://").unwrap().to_owned();
    for n in 0..60u32 {
        let body = crate::client::form(&[("file", Some("a.pdf"), &pdf(n))]);
        let head = format!(
            "POST /api/upload HTTP/1.1\r\nhost: x\r\ncontent-type: multipart/form-data; boundary=XX\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let whole = [head.as_bytes(), &body].concat();
        // From the first byte to one beyond the last.
        let cut = whole.len() * usize::try_from(n + 1).unwrap() / 60;
        let mut stream = tokio::net::TcpStream::connect(&address).await.unwrap();
        stream.write_all(&whole[..cut]).await.unwrap();
        drop(stream);
    }
    let store = world.engine.store();
    let temps = async || {
        world
            .files("uploads")
            .iter()
            .all(|file| !file.display().to_string().contains(".redrive-temp"))
            .then_some(())
    };
    eventually(temps).await;
    let mut jobs = store
        .jobs(redrive_store::JobFilter::default(), redrive_store::PageRequest { limit: 200, cursor: None })
        .await
        .unwrap()
        .rows;
    jobs.retain(|job| job.workload.as_str() == "convert");
    for job in &jobs {
        let payload = store.payload(job.id).await.unwrap().unwrap();
        let pdf: serde_json::Value = serde_json::from_slice(&payload.input).unwrap();
        let source = pdf["source"].as_str().unwrap();
        assert!(world.folder.path().join("uploads").join(source).exists() || source.is_empty(), "{pdf}");
    }
    assert!(jobs.len() < 60);
    let mut client: Client = world.client();
    assert_eq!(client.upload("b.pdf", &pdf(1_000), None).await.status, 201, "and everybody else goes on");
}
