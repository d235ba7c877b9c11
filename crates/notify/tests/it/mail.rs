//! Mail to a real server that answers as it is asked to (`scripts/smtp.sh`, see `scripts/smtp.py` for the names that it knows).

use std::path::PathBuf;
use std::time::Duration;

use redrive_model::Code;
use redrive_notify::mail::{Mail, MailError, MailSettings, Mailer, Sent, Step};
use serde_json::Value;

/// What `scripts/smtp.sh start` said; without it a test says so and ends.
#[expect(clippy::disallowed_methods, reason = "the home of the environment in these tests")]
fn server() -> Option<Server> {
    let folder = std::env::var("REDRIVE_TEST_SMTP").ok().filter(|folder| !folder.is_empty());
    if folder.is_none() {
        println!("REDRIVE_TEST_SMTP is not set: skipped; run ./test");
    }
    let folder = PathBuf::from(folder?);
    let ports = serde_json::from_slice(&std::fs::read(folder.join("ports.json")).unwrap()).unwrap();
    Some(Server { folder, ports })
}

struct Server {
    folder: PathBuf,
    ports: Value,
}

impl Server {
    fn settings(&self, url: &str, port: &str) -> MailSettings {
        let url = url.replace("PORT", &self.ports[port].to_string());
        let mut settings = MailSettings::parse(&url, "Redrive <redrive@example.org>").unwrap();
        settings.timeout = Duration::from_secs(20);
        settings.extra_roots = std::fs::read(self.folder.join("ca.pem")).unwrap();
        settings
    }

    /// In plain words, which is quickest.
    fn plain(&self) -> MailSettings {
        self.settings("smtp://127.0.0.1:PORT?tls=none", "starttls")
    }

    /// Every mail with this key that it took.
    fn taken(&self, key: &str) -> Vec<Value> {
        let mut found: Vec<(PathBuf, Value)> = std::fs::read_dir(self.folder.join("mails"))
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
            .map(|path| (path.clone(), serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()))
            .filter(|(_, mail): &(PathBuf, Value)| mail["headers"]["X-Entity-Ref-ID"] == key)
            .collect();
        found.sort_by(|a, b| a.0.cmp(&b.0));
        found.into_iter().map(|(_, mail)| mail).collect()
    }
}

/// A mail of a test's own: the server keeps those of all tests.
fn mail(test: &str, to: &[&str]) -> Mail {
    Mail {
        to: to.iter().map(|&to| to.to_owned()).collect(),
        subject: "2 neue Fehler, 1 erledigt — Büro".to_owned(),
        text: "Grüße\n.\n..zwei\nFrom here\n".to_owned() + &"lang ".repeat(300),
        html: "<p>Grüße — <b>zwei</b></p>".to_owned(),
        date: "2026-02-25T22:55:00Z".parse().unwrap(),
        key: format!("{test}-{}", std::process::id()),
    }
}

async fn send(settings: MailSettings, mail: &Mail) -> Result<Sent, MailError> {
    Mailer::new(settings).send(mail).await
}

#[tokio::test]
async fn a_mail_is_sent_when_the_server_said_so_and_arrives_as_it_was_written() {
    let Some(server) = server() else { return };
    let mail = mail("arrives", &["Ann Müller <ann@example.org>", "bo@example.org"]);
    let sent = send(server.plain(), &mail).await.unwrap();
    assert!(sent.is_whole() && sent.words.contains("kept as"), "{sent:?}");
    assert_eq!(sent.accepted, ["ann@example.org", "bo@example.org"]);
    let taken = server.taken(&mail.key);
    assert_eq!(taken.len(), 1);
    let got = &taken[0];
    assert_eq!(got["from"], "redrive@example.org");
    assert_eq!(got["to"], serde_json::json!(["ann@example.org", "bo@example.org"]));
    assert_eq!(got["headers"]["Subject"], mail.subject);
    assert_eq!(got["headers"]["From"], "Redrive <redrive@example.org>");
    assert_eq!(got["headers"]["To"], "Ann Müller <ann@example.org>, bo@example.org");
    assert_eq!(got["headers"]["Date"], "Wed, 25 Feb 2026 22:55:00 +0000");
    assert_eq!(got["headers"]["Message-ID"], format!("<{}@example.org>", mail.key));
    assert!(got["headers"]["Content-Type"].as_str().unwrap().starts_with("multipart/alternative"));
    let lines = |text: &Value| text.as_str().unwrap().replace("\r\n", "\n").trim_end().to_owned();
    assert_eq!(lines(&got["text"]), mail.text.trim_end());
    assert_eq!(lines(&got["html"]), mail.html);
    assert_eq!(got["defects"], serde_json::json!([]));
    assert!(got["longest_line"].as_u64().unwrap() <= 78, "{got}");
    assert_eq!((&got["tls"], &got["signed_in"]), (&Value::Bool(false), &Value::Bool(false)));
}

#[tokio::test]
async fn starttls_and_smtps_are_encrypted_and_sign_in() {
    let Some(server) = server() else { return };
    for (name, url, port) in [
        ("starttls", "smtp://user:p%40ss%3Aword%2FCANARY@localhost:PORT", "starttls"),
        ("smtps", "smtps://user:p%40ss%3Aword%2FCANARY@localhost:PORT", "smtps"),
    ] {
        let mail = mail(name, &["ann@example.org"]);
        send(server.settings(url, port), &mail).await.unwrap();
        let got = &server.taken(&mail.key)[0];
        assert_eq!((&got["tls"], &got["signed_in"]), (&Value::Bool(true), &Value::Bool(true)), "{name}");
    }
}

/// Each answer, at each step, is told apart; nothing is taken, and a password is in no message.
#[tokio::test]
async fn answers_are_told_apart_by_step_and_number() {
    let Some(server) = server() else { return };
    let wrong = || server.settings("smtp://user:CANARY@127.0.0.1:PORT?tls=none", "starttls");
    let nobody = || server.settings("smtp://user:CANARY@127.0.0.1:PORT?tls=none", "plain");
    let from = |word: &str| {
        let url = format!("smtp://127.0.0.1:{}?tls=none", server.ports["starttls"]);
        MailSettings::parse(&url, &format!("{word}@example.org")).unwrap()
    };
    let ann = "ann@example.org";
    for (n, (settings, to, code, step, reply)) in [
        (from("451"), ann, Code::MailUnavailable, Step::Sender, Some(451)),
        (from("550"), ann, Code::MailRefused, Step::Sender, Some(550)),
        (from("auth"), ann, Code::MailAuth, Step::Sender, Some(530)),
        (from("close"), ann, Code::MailUnavailable, Step::Sender, None),
        (wrong(), ann, Code::MailAuth, Step::SignIn, Some(535)),
        (nobody(), ann, Code::MailAuth, Step::SignIn, None),
        (server.plain(), "450@example.org", Code::MailUnavailable, Step::Recipients, Some(450)),
        (server.plain(), "550@example.org", Code::MailRefused, Step::Recipients, Some(550)),
        (server.plain(), "421@example.org", Code::MailUnavailable, Step::Recipients, Some(421)),
        (server.plain(), "close@example.org", Code::MailUnavailable, Step::Recipients, None),
        (server.plain(), "data-451@example.org", Code::MailUnavailable, Step::Content, Some(451)),
        (server.plain(), "data-554@example.org", Code::MailRefused, Step::Content, Some(554)),
        (server.plain(), "data-close@example.org", Code::MailUnavailable, Step::Content, None),
    ]
    .into_iter()
    .enumerate()
    {
        let mail = mail(&format!("answer-{n}"), &[to]);
        let error = send(settings, &mail).await.unwrap_err();
        assert_eq!((error.code, error.step, error.reply), (code, step, reply), "{n}: {error:?}");
        // The server may have it only when it said nothing after it had everything.
        assert_eq!(error.unsure, step == Step::Content && reply.is_none(), "{n}: {error:?}");
        let failure = error.failure();
        assert_eq!(failure.code, code);
        assert!(!format!("{error:?} {failure:?}").contains("CANARY"));
        assert_eq!(server.taken(&mail.key).len(), 0, "{n}");
    }
}

#[tokio::test]
async fn some_recipients_get_it_and_the_others_are_told_apart() {
    let Some(server) = server() else { return };
    let mail = mail("some", &["ann@example.org", "550@example.org", "450@example.org", "bo@example.org"]);
    let sent = send(server.plain(), &mail).await.unwrap();
    assert!(!sent.is_whole());
    assert_eq!(sent.accepted, ["ann@example.org", "bo@example.org"]);
    let refused: Vec<_> =
        sent.refused.iter().map(|one| (one.address.as_str(), one.code, one.reply)).collect();
    assert_eq!(
        refused,
        [
            ("550@example.org", Code::MailRefused, Some(550)),
            ("450@example.org", Code::MailUnavailable, Some(450))
        ]
    );
    assert_eq!(server.taken(&mail.key)[0]["to"], serde_json::json!(["ann@example.org", "bo@example.org"]));
}

#[tokio::test]
async fn when_nobody_is_taken_one_who_may_be_later_makes_it_worth_another_try() {
    let Some(server) = server() else { return };
    for (to, code) in [
        (["550@example.org", "450@example.org"], Code::MailUnavailable),
        (["550@example.org", "553@example.org"], Code::MailRefused),
    ] {
        let error = send(server.plain(), &mail("nobody", &to)).await.unwrap_err();
        assert_eq!((error.code, error.refused.len()), (code, 2), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_given_up_in_time() {
    let Some(server) = server() else { return };
    for (to, step, unsure) in
        [("hang@example.org", Step::Recipients, false), ("data-hang@example.org", Step::Content, true)]
    {
        let mut settings = server.plain();
        settings.timeout = Duration::from_millis(700);
        let error = send(settings, &mail("hang", &[to])).await.unwrap_err();
        assert_eq!(
            (error.code, error.step, error.unsure),
            (Code::MailUnavailable, step, unsure),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_server_that_hangs_after_its_250_has_the_mail() {
    let Some(server) = server() else { return };
    let mail = mail("goodbye", &["quit-hang@example.org"]);
    assert!(send(server.plain(), &mail).await.unwrap().is_whole());
    assert_eq!(server.taken(&mail.key).len(), 1);
}

#[tokio::test]
async fn nothing_is_said_over_a_connection_that_others_could_read() {
    let Some(server) = server() else { return };
    let distrusted = |mut settings: MailSettings| {
        settings.extra_roots.clear();
        settings
    };
    let user = "user:p%40ss%3Aword%2FCANARY@";
    for (n, settings) in [
        distrusted(server.settings(&format!("smtp://{user}localhost:PORT"), "starttls")),
        distrusted(server.settings(&format!("smtps://{user}localhost:PORT"), "smtps")),
        // Its certificate has its name, not its address.
        server.settings(&format!("smtp://{user}127.0.0.1:PORT"), "starttls"),
        server.settings(&format!("smtps://{user}127.0.0.1:PORT"), "smtps"),
        // It has no STARTTLS.
        server.settings(&format!("smtp://{user}localhost:PORT"), "plain"),
        // It does not speak TLS.
        server.settings(&format!("smtps://{user}localhost:PORT"), "plain"),
    ]
    .into_iter()
    .enumerate()
    {
        let mail = mail(&format!("readable-{n}"), &["ann@example.org"]);
        let error = send(settings, &mail).await.unwrap_err();
        assert_eq!(error.code, Code::MailTls, "{n}: {error:?}");
        assert_eq!(server.taken(&mail.key).len(), 0);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_is_unavailable() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let url = format!("smtp://127.0.0.1:{free}?tls=none");
    let settings = MailSettings::parse(&url, "redrive@example.org").unwrap();
    let error = send(settings, &mail("away", &["ann@example.org"])).await.unwrap_err();
    assert_eq!((error.code, error.step), (Code::MailUnavailable, Step::Connect), "{error:?}");
}

#[tokio::test]
async fn the_same_mail_twice_has_the_same_name_twice() {
    let Some(server) = server() else { return };
    let mail = mail("twice", &["ann@example.org"]);
    for _ in 0..2 {
        send(server.plain(), &mail).await.unwrap();
    }
    let taken = server.taken(&mail.key);
    assert_eq!(taken.len(), 2);
    assert_eq!(taken[0]["headers"], taken[1]["headers"]);
}

#[tokio::test]
async fn addresses_beyond_ascii_go_to_servers_that_take_them() {
    let Some(server) = server() else { return };
    let mail = mail("letters", &["jürgen@bücher.example", "ann@example.org"]);
    let sent = send(server.plain(), &mail).await.unwrap();
    assert!(sent.is_whole(), "{sent:?}");
    assert_eq!(server.taken(&mail.key)[0]["to"][0], "jürgen@xn--bcher-kva.example");
    let elsewhere = server.settings("smtp://127.0.0.1:PORT?tls=none", "plain");
    let sent = send(elsewhere, &mail).await.unwrap();
    assert_eq!(sent.refused[0].code, Code::MailRefused);
    assert_eq!(sent.accepted, ["ann@example.org"]);
}
