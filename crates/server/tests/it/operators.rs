//! Those who see everything: tokens, sign-in, and what they may do.

use std::time::Duration;

use futures::StreamExt;
use redrive_engine::{Context, Done, Failure, Permanent};
use redrive_model::EventSeq;
use serde_json::Value;

use crate::client::{Answer, Client};
use crate::gateway::Mood;
use crate::pages::reader::{press, visit};
use crate::world::{TOKEN, World, eventually, pdf};

pub(crate) async fn sign_in(client: &mut Client, key: &str) -> Answer {
    let request = client
        .request("POST", "/sign-in")
        .header("content-type", "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "same-origin")
        .body(format!("key={key}"));
    client.send(request).await
}

pub(crate) fn cookies(answer: &Answer) -> Vec<String> {
    let all = answer.headers.get_all("set-cookie").iter();
    all.map(|value| value.to_str().unwrap().to_owned()).collect()
}

fn ids(list: &Value) -> Vec<&str> {
    list["jobs"].as_array().unwrap().iter().map(|job| job["id"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn an_operator_sees_all_jobs_and_whose_they_are_and_others_see_their_own() {
    let world = World::start().await;
    let (mut ann, mut bob, mut operator) = (world.client(), world.client(), world.operator());
    let first = world.converted(&mut ann, "ann.pdf", &pdf(1)).await;
    let second = world.converted(&mut bob, "bob.pdf", &pdf(2)).await;
    let own = operator.upload("own.pdf", &pdf(3), None).await;
    assert_eq!((own.status, own.header("set-cookie")), (201, None), "a token needs no cookie");
    world.ended(&own.job_id()).await;
    let all = operator.get("/api/jobs").await.json();
    assert_eq!(ids(&all), [own.job_id(), second.clone(), first.clone()]);
    let owners: Vec<_> =
        all["jobs"].as_array().unwrap().iter().map(|job| job["owner"].as_str().unwrap()).collect();
    assert_eq!(owners[0], "operator");
    assert!(
        owners[1].starts_with("s:") && owners[2].starts_with("s:") && owners[1] != owners[2],
        "{owners:?}"
    );
    assert_eq!(
        (all["active_count"].as_u64(), all["counts"]["complete"].as_u64()),
        (Some(0), Some(3)),
        "{all}"
    );
    let chores = operator.get("/api/jobs?workload=redrive.reclaim").await.json();
    assert_eq!(
        chores["jobs"].as_array().unwrap().len(),
        1,
        "the engine's own are there for who asks for them"
    );
    let one = ann.get("/api/jobs").await.json();
    assert_eq!((ids(&one), one["counts"]["complete"].as_u64()), (vec![first.as_str()], Some(1)));
    assert_eq!(one["jobs"][0].get("owner"), None, "nobody is told whose they are");
    let zip = operator.get(&format!("/api/download.zip?ids={first},{second}")).await;
    assert_eq!(zip.status, 200, "{}", zip.text());
    assert_eq!(ann.get(&format!("/api/download.zip?ids={first},{second}")).await.code(), "FORBIDDEN");
}

#[tokio::test]
async fn an_operator_acts_on_anybodys_job_and_the_trail_says_who_it_was() {
    let world = World::start().await;
    let (mut ann, mut operator) = (world.client(), world.operator());
    world.gateway.mood(Mood::Refuses);
    let id = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let attempts = operator.get(&format!("/api/jobs/{id}/attempts")).await.json();
    assert_eq!(attempts[0]["code"], "PARSE_ERROR", "operators see what it was inside: {attempts}");
    let attempts = ann.get(&format!("/api/jobs/{id}/attempts")).await.json();
    assert_eq!(attempts[0]["code"], "GW_4XX");
    world.gateway.mood(Mood::Fine);
    let answer = operator.post(&format!("/api/jobs/{id}/retry")).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    world.ended(&id).await;
    assert_eq!(ann.get(&format!("/api/jobs/{id}")).await.json()["status"], "complete");
    let acts = world
        .engine
        .store()
        .acts(redrive_store::ActFilter::default(), redrive_store::PageRequest::default())
        .await
        .unwrap();
    assert_eq!(
        (acts.rows[0].act.actor.as_str(), acts.rows[0].act.action.as_str()),
        ("operator (token)", "jobs.retry")
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_see_which_worker_holds_a_job_until_when_and_nobody_else_does() {
    let world = World::start().await;
    let (mut ann, mut operator) = (world.client(), world.operator());
    world.gateway.mood(Mood::Silent);
    let id = ann.upload("a.pdf", &pdf(1), None).await.job_id();
    let path = format!("/api/jobs/{id}");
    let job = eventually(async || {
        let job = operator.get(&path).await.json();
        (job["status"] == "processing").then_some(job)
    })
    .await;
    let worker = operator.get("/api/workers").await.json()["workers"][0]["id"].as_str().unwrap().to_owned();
    assert_eq!(job["worker"], worker.as_str(), "{job}");
    assert!(job["lease_expires_at"].as_str().unwrap() > job["started_at"].as_str().unwrap(), "{job}");
    let held = operator.get(&format!("/api/jobs?worker={worker}")).await.json();
    assert!(ids(&held).contains(&id.as_str()), "{held}");
    let other = "0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b";
    assert_eq!(ids(&operator.get(&format!("/api/jobs?worker={other}")).await.json()), [""; 0]);
    let workers = visit(&mut operator, "/workers").await;
    let link = workers.one("tbody td[data-of=\"Jobs it holds\"] a").attr("href").unwrap().to_owned();
    assert_eq!(link, format!("/jobs?worker={worker}"));
    assert!(visit(&mut operator, &link).await.text("#jobs").contains("a.pdf"));
    assert!(visit(&mut operator, &format!("/jobs/{id}")).await.text("#job .lease").contains(&worker));

    let own = ann.get(&path).await.json();
    assert_eq!((own.get("worker"), own.get("lease_expires_at")), (None, None), "{own}");
    assert!(!ann.get("/api/jobs").await.text().contains(&worker));
    assert!(visit(&mut ann, &format!("/jobs/{id}")).await.all("#job .lease").is_empty());
    for asked in [format!("worker={worker}"), "target=gateway".to_owned()] {
        assert_eq!(
            ann.get(&format!("/api/jobs?{asked}")).await.code(),
            "VALIDATION_INVALID_FIELD",
            "{asked}"
        );
    }
    world.gateway.mood(Mood::Fine);
    world.ended(&id).await;
    let ended = operator.get(&path).await.json();
    assert_eq!((ended.get("worker"), ended.get("lease_expires_at")), (None, None), "{ended}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_a_target_is_one_link_away() {
    let world = World::start().await;
    let (mut ann, mut operator) = (world.client(), world.operator());
    let gateway = redrive_model::Target::new("gateway").unwrap();
    world.engine.hold(&gateway, None, &redrive_engine::By::new("ann")).await.unwrap();
    let id = ann.upload("a.pdf", &pdf(1), None).await.job_id();
    let list = operator.get("/api/jobs?target=gateway&status=held").await.json();
    assert_eq!(ids(&list), [id.as_str()]);
    assert_eq!(ids(&operator.get("/api/jobs?target=disk").await.json()), [""; 0]);
    for page in ["/overview", "/breakers"] {
        let link = eventually(async || {
            let page = visit(&mut operator, page).await;
            page.all("td[data-of=Waiting] a").first().map(|a| a.attr("href").unwrap().to_owned())
        })
        .await;
        assert_eq!(link, "/jobs?status=held,waiting_batch&target=gateway", "{page}");
    }
    let list = visit(&mut operator, "/jobs?status=held,waiting_batch&target=gateway").await;
    assert_eq!(list.one("#target").attr("value"), Some("gateway"));
    assert!(list.text("#jobs").contains("a.pdf") && list.all(".many").is_empty(), "nothing wider is offered");
    let form = visit(&mut operator, "/jobs?workload=convert&status=held&q=&code=&since=&target=").await;
    assert_eq!(form.all(".many a").len(), 1, "an empty field says nothing");
    let wider = visit(&mut operator, "/jobs/cancel?workload=convert&status=held&target=gateway").await;
    assert_eq!(wider.answer.status, 400);
}

#[tokio::test]
async fn to_be_forgotten_takes_an_operators_own_and_nothing_of_others() {
    let world = World::start().await;
    let (mut ann, mut operator) = (world.client(), world.operator());
    let theirs = world.converted(&mut ann, "ann.pdf", &pdf(1)).await;
    world.converted(&mut operator, "own.pdf", &pdf(2)).await;
    assert_eq!(operator.ask("DELETE", "/api/session", &[]).await.status, 204);
    assert_eq!(ann.get(&format!("/api/jobs/{theirs}/download")).await.status, 200);
    assert_eq!(world.files("uploads").len(), 1);
}

#[tokio::test]
async fn a_wrong_token_is_refused_uniformly_and_soon_not_even_looked_at() {
    let world = World::start().await;
    let mut first = None;
    let mut refused = 0;
    for n in 0..40 {
        let mut client = world.client().with_token(&format!("guess-number-{n:08}"));
        let answer = client.get("/api/jobs").await;
        match answer.status {
            401 => {
                assert_eq!(answer.header("www-authenticate"), Some("Bearer realm=\"redrive\""));
                let mut json = answer.json();
                assert_eq!(answer.code(), "AUTH_REQUIRED");
                json["request_id"] = "".into();
                assert_eq!(*first.get_or_insert(json.clone()), json, "one answer for all");
            }
            429 => refused += 1,
            other => panic!("{other}"),
        }
    }
    assert!(refused >= 25, "{refused} of 40");
    assert_eq!(
        world.operator().get("/api/jobs").await.status,
        429,
        "nor does a right one tell anything then"
    );
    assert_eq!(world.client().get("/api/jobs").await.status, 200, "who has none is not meant");
}

#[tokio::test]
async fn another_scheme_is_not_for_us() {
    let world = World::start().await;
    let answer = world.client().ask("GET", "/api/jobs", &[("authorization", "Basic dXNlcjpwYXNz")]).await;
    assert_eq!(answer.status, 200, "a proxy's own password");
}

#[tokio::test]
async fn a_code_signs_one_browser_in_once_and_signing_out_ends_it() {
    let world = World::start().await;
    let (mut ann, mut browser) = (world.client(), world.client());
    let id = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let code = world.operators.one_time_code().unwrap();
    // Looking at the link spends nothing, and the page is a plain form.
    for _ in 0..2 {
        let page = browser.get(&format!("/sign-in?code={code}")).await;
        assert_eq!((page.status, page.header("content-type")), (200, Some("text/html; charset=utf-8")));
        assert!(page.text().contains(&format!("value=\"{code}\"")) && !page.text().contains("<script"));
        assert!(page.header("content-security-policy").unwrap().contains("form-action 'self'"));
    }
    let odd = browser.get("/sign-in?code=%22%3E%3Cscript%3E").await;
    assert!(!odd.text().contains("<script"), "{}", odd.text());
    let answer = sign_in(&mut browser, &code).await;
    assert_eq!((answer.status, answer.header("location")), (303, Some("/overview")));
    let cookie = cookies(&answer).into_iter().find(|cookie| cookie.starts_with("redrive-operator=")).unwrap();
    assert!(cookie.contains("; HttpOnly; SameSite=Strict; Max-Age=604800"), "{cookie}");
    assert!(!answer.text().contains(&code));
    browser.cookie = Some(cookie.split(';').next().unwrap().to_owned());
    let signed_in = browser.cookie.clone();
    assert_eq!(browser.get(&format!("/api/jobs/{id}")).await.status, 200);
    assert_eq!(browser.get("/api/audit").await.status, 200);
    let jobs = browser.get("/jobs").await.text();
    assert!(jobs.contains("All jobs</h1>") && jobs.contains("action=\"/sign-out\""), "{jobs}");
    assert!(!ann.get("/jobs").await.text().contains("/sign-out"));
    assert_eq!(browser.get("/api/jobs/01890000-0000-7000-8000-000000000000").await.code(), "NOT_FOUND");
    let cross =
        browser.ask("POST", &format!("/api/jobs/{id}/cancel"), &[("sec-fetch-site", "cross-site")]).await;
    assert_eq!(cross.code(), "AUTH_CROSS_SITE");
    // The code is spent.
    let again = sign_in(&mut world.client(), &code).await;
    assert_eq!((again.status, cookies(&again).len()), (401, 0));
    assert!(again.text().contains("role=\"alert\""), "{}", again.text());
    let out = browser.post("/sign-out").await;
    assert_eq!(out.status, 303);
    assert!(
        cookies(&out).iter().any(|c| c.starts_with("redrive-operator=;") && c.ends_with("Max-Age=0")),
        "{out:?}"
    );
    browser.cookie = signed_in;
    assert_eq!(
        browser.get(&format!("/api/jobs/{id}")).await.code(),
        "FORBIDDEN",
        "the session itself has ended"
    );
}

#[tokio::test]
async fn the_token_signs_in_too_and_a_browser_keeps_its_own_jobs() {
    let world = World::with(|setup| setup.public_url = Some("https://convert.example.org")).await;
    let mut browser = world.client();
    let own = world.converted(&mut browser, "a.pdf", &pdf(1)).await;
    let session = browser.cookie.clone().unwrap();
    let answer = sign_in(&mut browser, TOKEN).await;
    let cookie = cookies(&answer).remove(0);
    assert!(cookie.starts_with("__Host-redrive-operator=") && cookie.contains("; Secure"), "{cookie}");
    browser.cookie = Some(format!("{session}; {}", cookie.split(';').next().unwrap()));
    let second = world.converted(&mut browser, "b.pdf", &pdf(2)).await;
    browser.cookie = Some(session);
    let list = browser.get("/api/jobs").await.json();
    assert_eq!(ids(&list), [second, own], "what was uploaded while signed in is theirs");
}

#[tokio::test]
async fn whoever_is_stopped_at_the_door_comes_to_the_page_that_was_wanted() {
    let world = World::start().await;
    let mut browser = world.client();
    let stopped = visit(&mut browser, "/dead?state=new&q=a%20b").await;
    assert_eq!(stopped.answer.status, 401);
    let door = stopped.one(".actions a.button:not(.quiet)").attr("href").unwrap().to_owned();
    assert_eq!(door, "/sign-in?to=%2Fdead%3Fstate%3Dnew%26q%3Da%2520b");
    let (wanted, kept) = ("/dead?state=new&q=a%20b", "name=\"to\" value=\"/dead?state=new&amp;q=a%20b\"");
    assert!(browser.get(&door).await.text().contains(kept));
    let mut enter = async |key: &str, to: &str| {
        let to: String = url::form_urlencoded::byte_serialize(to.as_bytes()).collect();
        press(&mut browser, "/sign-in", &format!("key={key}&to={to}")).await
    };
    let wrong = enter("nothing", wanted).await;
    assert!(
        wrong.status == 401 && wrong.text().contains(kept),
        "a slip does not forget it: {}",
        wrong.text()
    );
    assert_eq!(enter(TOKEN, wanted).await.header("location"), Some(wanted));
    for elsewhere in ["//evil.example/", "https://evil.example/", "/\\evil.example"] {
        assert_eq!(enter(TOKEN, elsewhere).await.header("location"), Some("/overview"), "{elsewhere}");
    }
    // An act is not done again by signing in.
    let act = press(&mut world.client(), "/dead/f8ea56e486c8ade9/replay", "canary=1").await;
    assert!(act.text().contains("/sign-in?to=%2Foverview"), "{}", act.text());
}

#[tokio::test]
async fn wrong_keys_at_the_sign_in_are_counted_too() {
    let world = World::start().await;
    let mut statuses = Vec::new();
    for n in 0..12 {
        statuses.push(sign_in(&mut world.client(), &format!("guess{n}")).await.status);
    }
    assert_eq!((statuses[0], statuses[11]), (401, 429), "{statuses:?}");
}

#[tokio::test]
async fn neither_a_stored_hash_nor_an_ordinary_secret_opens_the_door() {
    let world = World::start().await;
    let mut browser = world.client();
    browser.get("/api/jobs").await;
    let secret = browser.cookie.clone().unwrap().split_once('=').unwrap().1.to_owned();
    browser.cookie = Some(format!("redrive-operator={secret}"));
    assert_eq!(browser.get("/api/audit").await.code(), "AUTH_REQUIRED");
}

/// Infrastructure that has something to do all the time.
struct Chore;

impl Permanent for Chore {
    async fn run(&self, _: Context) -> Result<Done, Failure> {
        Ok(Done::RescheduleIn(Duration::from_millis(5)))
    }
}

#[tokio::test]
async fn an_operator_hears_the_events_of_all_jobs_but_not_of_chores() {
    let world = World::with(|setup| setup.works = false).await;
    world.engine.permanent("test.chore", Chore).await.unwrap();
    let (mut ann, operator) = (world.client(), world.operator());
    let stream = operator.request("GET", "/api/events/stream").send().await.unwrap();
    assert_eq!(stream.status(), 200);
    let running = world.engine.start();
    let chores = async || {
        let events = world.engine.store().events_after(EventSeq(0), 1_000).await.unwrap();
        events
            .iter()
            .filter(|event| event.workload.as_ref().is_some_and(|w| w.as_str() == "test.chore"))
            .count()
    };
    while chores().await < 10 {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    let id = world.converted(&mut ann, "a.pdf", &pdf(1)).await;
    let mut pieces = stream.bytes_stream();
    let mut heard = String::new();
    let complete = async {
        while !heard.contains("event: complete") {
            heard.push_str(&String::from_utf8_lossy(&pieces.next().await.unwrap().unwrap()));
        }
    };
    tokio::time::timeout(Duration::from_secs(20), complete).await.unwrap();
    assert!(heard.contains(&id) && heard.contains("\"workload\":\"convert\""), "{heard}");
    assert!(!heard.contains("test.chore") && !heard.contains("\"redrive."), "{heard}");
    running.drain().await;
}

/// A browser that has signed in, and holds nothing else.
async fn browser(world: &World) -> Client {
    let mut browser = world.client();
    let answer = sign_in(&mut browser, TOKEN).await;
    browser.cookie = Some(cookies(&answer)[0].split(';').next().unwrap().to_owned());
    browser
}

type Pieces = std::pin::Pin<Box<dyn futures::Stream<Item = reqwest::Result<bytes::Bytes>>>>;

async fn listen(client: &Client, path: &str) -> Pieces {
    let stream = client.request("GET", path).send().await.unwrap();
    assert_eq!(stream.status(), 200);
    Box::pin(stream.bytes_stream())
}

async fn is_over(mut stream: Pieces) {
    let end = async { while stream.next().await.is_some_and(|piece| piece.is_ok()) {} };
    tokio::time::timeout(Duration::from_secs(10), end).await.expect("it still hears");
}

async fn hears(mut stream: Pieces, word: &str) {
    let mut heard = String::new();
    let wait = async {
        while !heard.contains(word) {
            heard.push_str(&String::from_utf8_lossy(&stream.next().await.unwrap().unwrap()));
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.expect("it hears nothing");
}

#[tokio::test]
async fn what_a_browser_hears_ends_when_it_signs_out() {
    let world = World::with(|setup| setup.works = false).await;
    let (mut leaving, staying) = (browser(&world).await, browser(&world).await);
    let streams = [listen(&leaving, "/api/events/stream").await, listen(&leaving, "/live").await];
    let kept = listen(&staying, "/api/events/stream").await;
    assert_eq!(press(&mut leaving, "/sign-out", "").await.status, 303);
    for stream in streams {
        is_over(stream).await;
    }
    let id = world.client().upload("a.pdf", &pdf(1), None).await.job_id();
    hears(kept, &id).await;
}

#[tokio::test]
async fn what_a_browser_hears_ends_when_its_sign_in_is_over() {
    let world = World::with(|setup| {
        setup.works = false;
        setup.limits.stream_heartbeat = Duration::from_millis(20);
        setup.limits.operator_session.absolute = Duration::from_secs(2);
    })
    .await;
    let (browser, program) = (browser(&world).await, world.operator());
    let kept = listen(&program, "/api/events/stream").await;
    let streams = [listen(&browser, "/api/events/stream").await, listen(&browser, "/live").await];
    for stream in streams {
        is_over(stream).await;
    }
    let id = world.client().upload("a.pdf", &pdf(1), None).await.job_id();
    hears(kept, &id).await;
}
