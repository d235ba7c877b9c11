//! What the server goes through: uploads, downloads, digests, sign-ins, all with neighbours that refuse and repeat.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::json;

use super::parrot;
use super::search::Searched;
use super::settings::secrets;
use crate::process::redrive;
use crate::running::{Answer, Running, server_file, wait_for};

/// What came of it.
pub(super) struct Story {
    home: tempfile::TempDir,
    /// What was said and answered, and where.
    said: Vec<(String, String)>,
    /// Answers that must hold the links that were handed in: what is missing, for its owner, to be handed in again.
    links: Vec<(String, String)>,
    /// Secrets that were made on the way, and which.
    made: Vec<(&'static str, String)>,
}

impl Story {
    pub(super) fn data(&self) -> PathBuf {
        self.home.path().join("data")
    }

    /// Searches everything but the database.
    pub(super) fn search(&self, searched: &mut Searched) {
        for (what, secret) in &self.made {
            searched.also(what, secret);
        }
        for (place, text) in &self.said {
            searched.text(place, text);
        }
        for (place, text) in &self.links {
            assert!(text.contains("cnry-u-signature"), "{place}: {text}");
            searched.bytes_with_links(place, text.as_bytes());
        }
        searched.files(self.home.path());
    }

    /// Goes through all of it, on this Postgres or on SQLite.
    pub(super) fn tell(postgres: Option<&str>) -> Self {
        let home = tempfile::tempdir().unwrap();
        let mut telling = Telling::new(home.path(), postgres);
        let mut story = Self { home, said: Vec::new(), links: Vec::new(), made: Vec::new() };
        telling.run(&mut story);
        story
    }
}

/// The settings, and the neighbours.
struct Telling {
    home: PathBuf,
    settings: Vec<(String, String)>,
    origin: String,
}

impl Telling {
    fn new(home: &Path, postgres: Option<&str>) -> Self {
        let mut settings: Vec<(String, String)> = secrets(&parrot::mail()).into_iter().collect();
        // This program is built without that sink, and does not start with it.
        settings.retain(|(name, _)| name != "NATS_URL");
        let mut set = |name: &str, value: String| settings.push((name.to_owned(), value));
        set("DATA_DIR", home.join("data").display().to_string());
        if let Some(url) = postgres {
            let (scheme, rest) = url.split_once("://").unwrap();
            let (user, place) = rest.split_once('@').unwrap();
            set("DATABASE_URL", format!("{scheme}://{user}:cnry-setting-database@{place}"));
        }
        set("GATEWAY_URL", format!("http://cnry-some-user:cnry-some-password@{}/", parrot::gateway()));
        set("METRICS_LISTEN", "127.0.0.1:0".to_owned());
        set("FETCH_ALLOW_PRIVATE", "true".to_owned());
        set("S3_ENDPOINT", parrot::s3());
        set("AWS_REGION", "us-east-1".to_owned());
        set("INTAKE_URL", home.join("intake").display().to_string());
        set("INTAKE_INTERVAL_SEC", "1".to_owned());
        set("INTAKE_MAX_RETRIES", "0".to_owned());
        set("MAIL_FROM", "redrive@example.org".to_owned());
        set("LOG_LEVEL", "trace".to_owned());
        for name in ["RETRY_BASE_DELAY_MS", "RETRY_JITTER_MAX_MS"] {
            set(name, "10".to_owned());
        }
        for (name, value) in
            [("RETRY_MAX_ATTEMPTS", "2"), ("DOWNLOAD_RETRY_LIMIT", "1"), ("STORAGE_RETRY_LIMIT", "1")]
        {
            set(name, value.to_owned());
        }
        let proxy = parrot::proxy();
        let pool = format!("[proxy_pools]\neu = [\"http://cnry-some-proxy:cnry-some-word@{proxy}\"]\n");
        let config = home.join("redrive.toml");
        std::fs::write(&config, pool).unwrap();
        set("REDRIVE_CONFIG", config.display().to_string());
        Self { home: home.to_owned(), settings, origin: parrot::origin() }
    }

    fn settings(&self) -> Vec<(&str, &str)> {
        self.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect()
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = redrive(args);
        command.current_dir(&self.home).envs(self.settings());
        command
    }

    fn run(&mut self, story: &mut Story) {
        let data = story.data();
        let server = Running::start(&["serve", "--listen", "127.0.0.1:0"], &self.settings());
        server.said("redrive listening on ");
        let talk = Talk { server: &server, story };
        self.talk(talk, &data);
        for args in [
            &["config", "show"][..],
            &["config", "show", "--json"],
            &["config", "check"],
            &["doctor"],
            &["doctor", "--json"],
            &["dead", "export"],
            &["dead", "export", "--format", "protobuf", "--out", "letters.bin"],
            &["jobs", "list", "--json", "--members"],
            &["tokens", "list", "--json"],
            &["digest", "deliveries", "--json"],
            &["intake", "status"],
            // On its own, into a bucket that refuses.
            &[
                "fetch",
                "--json",
                "--to",
                "s3://bucket/fetched",
                &format!("http://{}/x?X-Amz-Signature=cnry-u", self.origin),
            ],
        ] {
            story.said.push((format!("redrive {args:?}"), until_it_ends(self.command(args))));
        }
        let mut server = server;
        server.signal("-TERM");
        server.ended();
        story.said.push(("the server's output".to_owned(), server.out()));
        story.said.push(("the server's log".to_owned(), server.err()));
    }

    /// Everything that people and programs do with it.
    fn talk(&self, mut talk: Talk<'_>, data: &Path) {
        let operator = ("authorization".to_owned(), "Bearer cnry-setting-operator-token".to_owned());
        let local = server_file(data)["token"].as_str().unwrap().to_owned();
        talk.story.made.push(("the local token", local));
        // Somebody with a session, whose file is refused by a gateway that says all it knows.
        let front = talk.ask("GET", "/", &[], b"");
        let cookie = cookie(&front, "redrive=");
        talk.story.made.push(("a session's secret", cookie.split_once('=').unwrap().1.to_owned()));
        let session = ("cookie".to_owned(), cookie);
        let form = ("content-type".to_owned(), "multipart/form-data; boundary=x".to_owned());
        let body = [
            &b"--x\r\ncontent-disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n"[..],
            &redrive_gateway::sample::hello(),
            b"\r\n--x--\r\n",
        ]
        .concat();
        let job = talk.ask("POST", "/api/upload", &[session.clone(), form], &body).job();
        talk.ended(&format!("/api/jobs/{job}"), &session);
        // A list of links that hold signatures, with headers that hold tokens, a pool of proxies and a place that refuses.
        let kind = ("content-type".to_owned(), "application/json".to_owned());
        for pool in [None, Some("eu")] {
            let links = ["/plain", "/elsewhere", "/broken"].map(|path| {
                json!({
                    "id": path.trim_matches('/'),
                    "url": format!("http://{}{path}?X-Amz-Signature=cnry-u-signature&X-Amz-Credential=cnry-u-credential", self.origin),
                    "headers": {"Authorization": "Bearer cnry-u-header", "Cookie": "a=cnry-u-cookie", "X-Api-Key": "cnry-u-key"},
                })
            });
            let mut manifest = json!({"manifest_version": 1, "resources": links});
            if let Some(pool) = pool {
                manifest["proxy_pool"] = pool.into();
            }
            let answer = talk.ask(
                "POST",
                "/api/fetch",
                &[session.clone(), kind.clone()],
                manifest.to_string().as_bytes(),
            );
            let batch = answer.json()["job_id"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned();
            if pool.is_none() {
                talk.ended(&format!("/api/fetch/{batch}"), &session);
            }
            for path in [
                format!("/api/fetch/{batch}"),
                format!("/api/fetch/{batch}/resources"),
                format!("/fetch/{batch}"),
            ] {
                talk.look(&path, &session);
                talk.look(&path, &operator);
            }
            // What is missing is told to whoever handed it in, by the real links.
            let path = format!("/api/fetch/{batch}/missing");
            let missing = talk.server.ask("GET", &path, &[(&session.0, &session.1)], b"");
            talk.story.links.push((path, missing.body));
        }
        // Links that are refused at the door.
        for url in [
            "http://cnry-u-user:cnry-u-word@127.0.0.1/x",
            "ftp://cnry-u-user@127.0.0.1/?sig=cnry-u",
            "http://[cnry-u",
        ] {
            let manifest = json!({"manifest_version": 1, "resources": [{"id": "a", "url": url}]});
            talk.ask("POST", "/api/fetch", &[session.clone(), kind.clone()], manifest.to_string().as_bytes());
        }
        // A PDF of people that fails, and a mail about it that nobody takes.
        std::fs::create_dir_all(self.home.join("intake/queue/jane")).unwrap();
        std::fs::write(self.home.join("intake/queue/jane/letter.pdf"), redrive_gateway::sample::hello())
            .unwrap();
        let told = json!({"owner": "default", "address": "jane@example.org"}).to_string();
        talk.ask("POST", "/api/notifications", &[operator.clone(), kind.clone()], told.as_bytes());
        wait_for("the letter to fail", || {
            let records =
                talk.server.ask("GET", "/api/failure-records", &[(&operator.0, &operator.1)], b"").json();
            records["failure_records"]
                .as_array()
                .or(records["records"].as_array())
                .is_some_and(|all| !all.is_empty())
                .then_some(())
        });
        talk.ask("POST", "/api/digest", std::slice::from_ref(&operator), b"{}");
        wait_for("the mail to be refused", || {
            let list = talk.server.ask("GET", "/api/deliveries", &[(&operator.0, &operator.1)], b"").json();
            list["deliveries"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["error"].is_string()))
                .then_some(())
        });
        // Operators who sign in, with a right key and with a wrong one; a token that is made, used and taken back.
        let typed = ("content-type".to_owned(), "application/x-www-form-urlencoded".to_owned());
        let entered =
            talk.ask("POST", "/sign-in", std::slice::from_ref(&typed), b"key=cnry-setting-operator-token");
        assert_eq!(entered.status, 303, "{entered:?}");
        let signed_in = ("cookie".to_owned(), self::cookie(&entered, "redrive-operator="));
        talk.story.made.push(("an operator's session", signed_in.1.split_once('=').unwrap().1.to_owned()));
        talk.ask("POST", "/sign-in", &[typed], b"key=cnry-u-wrong-key-of-somebody");
        talk.ask(
            "GET",
            "/api/audit",
            &[("authorization".to_owned(), "Bearer cnry-u-wrong-token-of-somebody".to_owned())],
            b"",
        );
        talk.ask("GET", "/sign-in?code=cnry-x", &[], b"");
        let wish = json!({"name": "robot", "scope": "admin"}).to_string();
        let made =
            talk.server.ask("POST", "/api/tokens", &[(&operator.0, &operator.1)], wish.as_bytes()).json();
        let token = made["token"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        talk.story.made.push(("a token of the list", token.clone()));
        let robot = ("authorization".to_owned(), format!("Bearer {token}"));
        talk.look("/api/tokens", &robot);
        talk.ask(
            "POST",
            &format!("/api/tokens/{}/revoke", made["id"].as_str().unwrap()),
            std::slice::from_ref(&operator),
            b"{}",
        );
        talk.look("/api/tokens", &robot);
        // All that can be looked at.
        for path in [
            "/",
            "/jobs",
            "/fetch",
            "/dead",
            "/replays",
            "/breakers",
            "/workers",
            "/intake",
            "/audit",
            "/tokens",
            "/digest",
            "/notifications",
            "/failure-records",
            "/docs",
            "/api/status",
            "/api/jobs?members=true",
            "/api/dead-letters",
            "/api/groups",
            "/api/breakers",
            "/api/workers",
            "/api/audit",
            "/api/auditor",
            "/api/deliveries",
            "/api/notifications",
            "/api/intake",
            "/api/intake/documents",
            "/api/failure-records",
            "/api/tokens",
            "/api/openapi.json",
            "/healthz",
            "/readyz",
            "/nothing?sig=cnry-x",
        ] {
            for who in [&operator, &session, &signed_in] {
                talk.look(path, who);
            }
        }
        for what in ["attempts", "events", "explain", "download"] {
            talk.look(&format!("/api/jobs/{job}/{what}"), &operator);
        }
        for group in
            talk.server.ask("GET", "/api/groups", &[(&operator.0, &operator.1)], b"").json()["groups"]
                .as_array()
                .unwrap()
        {
            talk.look(&format!("/dead/{}", group["fingerprint"].as_str().unwrap()), &operator);
        }
        let metrics = talk.server.metrics();
        talk.story.said.push(("metrics".to_owned(), metrics));
    }
}

/// A conversation with the server; every answer is kept.
struct Talk<'a> {
    server: &'a Running,
    story: &'a mut Story,
}

impl Talk<'_> {
    fn ask(&mut self, method: &str, path: &str, headers: &[(String, String)], body: &[u8]) -> Answer {
        let headers: Vec<(&str, &str)> =
            headers.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        let answer = self.server.ask(method, path, &headers, body);
        // The one header that brings a secret to whom it belongs.
        let head: Vec<&str> = answer.head.lines().filter(|line| !line.starts_with("set-cookie:")).collect();
        self.story.said.push((format!("{method} {path}"), format!("{}\n{}", head.join("\n"), answer.body)));
        answer
    }

    fn look(&mut self, path: &str, who: &(String, String)) {
        self.ask("GET", path, &[who.clone(), ("accept".to_owned(), "text/html, */*".to_owned())], b"");
    }

    fn ended(&mut self, path: &str, who: &(String, String)) {
        wait_for(&format!("{path} ends"), || {
            let now = self.server.ask("GET", path, &[(&who.0, &who.1)], b"").json();
            let status =
                now["status"].as_str().or(now["job"]["status"].as_str()).unwrap_or_default().to_owned();
            ["complete", "failed", "partial"].contains(&status.as_str()).then_some(())
        });
        self.look(path, who);
    }
}

fn cookie(answer: &Answer, name: &str) -> String {
    let line = answer
        .head
        .lines()
        .find_map(|line| line.strip_prefix("set-cookie: ").filter(|line| line.starts_with(name)));
    let line = line.unwrap_or_else(|| panic!("no {name} in {answer:?}"));
    line.split(';').next().unwrap().to_owned()
}

/// Runs a command to its end, or for some seconds; everything that it said.
pub(super) fn until_it_ends(mut command: Command) -> String {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let until = Instant::now() + Duration::from_secs(20);
    while child.try_wait().unwrap().is_none() {
        if Instant::now() > until {
            child.kill().unwrap();
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}
