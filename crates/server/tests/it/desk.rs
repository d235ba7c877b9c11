//! What operators do over the API: letters, replays, groups, targets; and what is left of it in the trail.

use redrive_engine::model::State;
use redrive_store::{GroupFilter, PageRequest};
use serde_json::{Value, json};

use crate::client::{Answer, Client};
use crate::gateway::Mood;
use crate::world::{World, eventually, pdf};

/// A world in which so many uploads were refused, and an operator; the gateway is well again.
pub(crate) async fn refused(n: u32) -> (World, Client) {
    let world = World::start().await;
    let mut ann = world.client();
    world.gateway.mood(Mood::Refuses);
    for n in 0..n {
        world.converted(&mut ann, &format!("{n}.pdf"), &pdf(n)).await;
    }
    world.gateway.mood(Mood::Fine);
    let operator = world.operator();
    (world, operator)
}

async fn letters(operator: &mut Client) -> Vec<Value> {
    operator.get("/api/dead-letters").await.json()["dead_letters"].as_array().unwrap().clone()
}

pub(crate) async fn say(client: &mut Client, path: &str, body: Value) -> Answer {
    let request = client.request("POST", path).header("content-type", "application/json");
    client.send(request.body(body.to_string())).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_letter_is_started_again_or_not_wanted_and_only_once() {
    let (world, mut operator) = refused(2).await;
    let found = letters(&mut operator).await;
    let (first, second) = (&found[0], &found[1]);
    let path = |letter: &Value, act: &str| format!("/api/dead-letters/{}/{act}", letter["offset"]);
    let answer = say(&mut operator, &path(first, "replay"), json!({"reason": "mended"})).await;
    assert_eq!(answer.status, 202, "{}", answer.text());
    assert_eq!(answer.json()["job"]["id"], first["job_id"]);
    world.ended(first["job_id"].as_str().unwrap()).await;
    let job = world.engine.job(first["job_id"].as_str().unwrap().parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((job.state, job.generation), (State::Complete, 2));
    let again = say(&mut operator, &path(first, "replay"), json!({})).await;
    assert_eq!((again.status, again.code().as_str()), (409, "CONFLICT_STATE"));

    let answer = operator.post(&path(second, "discard")).await;
    assert_eq!((answer.status, &answer.json()["state"]), (200, &"discarded".into()), "{}", answer.text());
    assert_eq!(operator.post(&path(second, "discard")).await.code(), "CONFLICT_STATE");
    assert_eq!(operator.post("/api/dead-letters/999/replay").await.code(), "NOT_FOUND");
    assert_eq!(operator.post("/api/dead-letters/none/discard").await.code(), "NOT_FOUND");
    let rubbish = say(&mut operator, &path(second, "discard"), json!({"raeson": "slip"})).await;
    assert_eq!((rubbish.status, rubbish.code().as_str()), (400, "VALIDATION_INVALID_FIELD"));

    let acts = operator.get("/api/audit").await.json();
    let told: Vec<(&str, &str)> = acts["acts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|act| (act["action"].as_str().unwrap(), act["outcome"].as_str().unwrap()))
        .collect();
    assert!(told.contains(&("dead.discard", "1 discarded")), "{acts}");
    let retry = acts["acts"].as_array().unwrap().iter().find(|act| act["action"] == "jobs.retry").unwrap();
    assert_eq!((&retry["actor"], &retry["reason"]), (&"operator (token)".into(), &"mended".into()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_is_counted_then_started_and_takes_what_was_counted() {
    let (world, mut operator) = refused(3).await;
    let group = letters(&mut operator).await[0]["group"].as_str().unwrap().to_owned();
    let asked = json!({"filter": {"group": group}, "dry_run": true});
    let counted = say(&mut operator, "/api/replays", asked).await;
    let newest = letters(&mut operator).await[0]["offset"].clone();
    assert_eq!((counted.status, counted.json()), (200, json!({"matching": 3, "upto": newest})));
    let asked = json!({"filter": {"group": group}, "upto": newest, "canary": 1, "rate_per_sec": 50, "stop_at_failure_share": 0.5,
        "name": "after the repair", "reason": "the gateway was mended"});
    let started = say(&mut operator, "/api/replays", asked).await;
    assert_eq!(started.status, 201, "{}", started.text());
    let (replay, place) = (started.json(), started.header("location").unwrap().to_owned());
    assert_eq!((&replay["total"], &replay["name"]), (&3.into(), &"after the repair".into()));
    let ended = eventually(async || {
        let replay = operator.get(&place).await.json();
        (replay["phase"] == "done").then_some(replay)
    })
    .await;
    assert_eq!((&ended["complete"], &ended["failed"]), (&3.into(), &0.into()), "{ended}");
    assert!(letters(&mut operator).await.is_empty());
    let listed = operator.get("/api/replays?workload=convert").await.json();
    assert_eq!((listed["replays"].as_array().unwrap().len(), &listed["next_cursor"]), (1, &Value::Null));
    let over = operator.post(&format!("{place}/cancel")).await;
    assert_eq!((over.status, over.code().as_str()), (409, "CONFLICT_STATE"));
    let nothing = json!({"filter": {"workload": "convert"}});
    let nothing = say(&mut operator, "/api/replays", nothing).await;
    assert_eq!((nothing.status, nothing.code().as_str()), (404, "NOT_FOUND"));
    assert_eq!(nothing.json()["detail"], "No open dead letter matches.");
    drop(world);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_cannot_be_meant_is_refused_in_words() {
    let (_world, mut operator) = refused(1).await;
    for (asked, code) in [
        (json!({}), "VALIDATION_FILTER_REQUIRED"),
        (json!({"filter": {"code": "GW_4XX"}}), "VALIDATION_FILTER_REQUIRED"),
        (json!({"filter": {"workload": "no name"}}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"group": "xyz"}}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"group": "0123456789abcdef"}}), "NOT_FOUND"),
        (json!({"filter": {"workload": "convert"}, "stop_at_failure_share": 2}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert"}, "rate_per_sec": 0}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert"}, "upto": "x"}), "VALIDATION_INVALID_FIELD"),
        (json!({"filters": {}}), "VALIDATION_INVALID_FIELD"),
        (json!([1]), "VALIDATION_INVALID_FIELD"),
    ] {
        let answer = say(&mut operator, "/api/replays", asked.clone()).await;
        assert_eq!(answer.code(), code, "{asked}: {}", answer.text());
    }
    let request = operator.request("POST", "/api/replays").body("{");
    assert_eq!(operator.send(request).await.code(), "VALIDATION_MALFORMED");
    let request = operator.request("POST", "/api/replays").body(" ".repeat(70_000));
    assert_eq!(operator.send(request).await.code(), "VALIDATION_TOO_LARGE");
    assert_eq!(letters(&mut operator).await.len(), 1, "nothing was changed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn groups_are_seen_acknowledged_and_resolved() {
    let (world, mut operator) = refused(2).await;
    let groups = operator.get("/api/groups?state=new&workload=convert").await.json();
    let group = groups["groups"][0].clone();
    assert_eq!((&group["open"], &group["code"]), (&2.into(), &"PARSE_ERROR".into()), "{groups}");
    let path = format!("/api/groups/{}", group["fingerprint"].as_str().unwrap());
    assert_eq!(operator.get(&path).await.json(), group);
    let moved = say(&mut operator, &format!("{path}/ack"), json!({"reason": "looking"})).await;
    assert_eq!((moved.status, &moved.json()["state"]), (200, &"acknowledged".into()));
    assert_eq!(operator.post(&format!("{path}/ack")).await.code(), "CONFLICT_STATE");
    assert_eq!(operator.post(&format!("{path}/resolve")).await.json()["state"], "resolved");
    assert_eq!(operator.post("/api/groups/0123456789abcdef/ack").await.code(), "NOT_FOUND");
    assert_eq!(operator.get("/api/groups?state=old").await.code(), "VALIDATION_INVALID_FIELD");
    assert_eq!(operator.get("/api/groups?stat=new").await.code(), "VALIDATION_UNKNOWN_FIELD");
    assert_eq!(operator.get("/api/groups?cursor=x").await.code(), "VALIDATION_CURSOR");
    let rows = world.engine.store().groups(GroupFilter::default(), PageRequest::default()).await.unwrap();
    assert_eq!(rows.rows.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_is_held_and_let_go_and_everybody_can_see_why() {
    let world = World::start().await;
    let mut operator = world.operator();
    let held = say(&mut operator, "/api/breakers/gateway/hold", json!({"reason": "new release"})).await;
    assert_eq!((held.status, &held.json()["state"]), (200, &"held".into()), "{}", held.text());
    assert_eq!(held.json()["hold"]["reason"], "new release");
    let mut ann = world.client();
    let job = ann.upload("a.pdf", &pdf(1), None).await.job_id();
    eventually(async || {
        let listed = operator.get("/api/breakers").await.json();
        (listed["breakers"][0]["held_jobs"] == 1).then_some(())
    })
    .await;
    let past =
        say(&mut operator, "/api/breakers/gateway/hold", json!({"until": "2020-01-01T00:00:00Z"})).await;
    assert_eq!(past.code(), "VALIDATION_INVALID_FIELD");
    let free = operator.post("/api/breakers/gateway/release").await;
    assert_eq!((free.status, &free.json()["hold"]), (200, &Value::Null), "{}", free.text());
    world.ended(&job).await;
    // A host has a colon and a port, and may be held before anybody has called it.
    let host = say(&mut operator, "/api/breakers/host:a.example:443/hold", json!({})).await;
    assert_eq!(host.json()["target"], "host:a.example:443", "{}", host.text());
    assert_eq!(operator.post("/api/breakers/nobody/release").await.code(), "NOT_FOUND");
    assert_eq!(operator.post("/api/breakers/no%20name/hold").await.code(), "VALIDATION_INVALID_FIELD");
}

/// Nobody has touched the breaker since: its row still has the words of the hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hold_whose_time_is_over_is_shown_no_more_and_the_target_can_be_held_again() {
    let world = World::start().await;
    let mut operator = world.operator();
    let soon = world.engine.store().now().await.unwrap() + std::time::Duration::from_millis(300);
    let asked = json!({"until": soon.to_string(), "reason": "a short break"});
    let held = say(&mut operator, "/api/breakers/gateway/hold", asked).await.json();
    assert_eq!((&held["state"], &held["hold"]["reason"]), (&"held".into(), &"a short break".into()));
    let over = eventually(async || {
        let one = operator.get("/api/breakers").await.json()["breakers"][0].clone();
        (one["state"] != "held").then_some(one)
    })
    .await;
    assert_eq!((&over["state"], &over["hold"]), (&"closed".into(), &Value::Null), "{over}");
    let page =
        crate::pages::reader::Page::read(operator.ask("GET", "/breakers", &[("accept", "text/html")]).await);
    assert_eq!(page.text("#breakers > table button"), "Hold");
    assert!(!page.text("#breakers > table").contains("a short break"), "{}", page.text("#breakers > table"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn workers_are_listed_and_another_policy_is_tried() {
    let (_world, mut operator) = refused(2).await;
    let workers = operator.get("/api/workers").await.json();
    let worker = &workers["workers"][0];
    assert_eq!(worker["state"], "alive", "{workers}");
    let tried = json!({"workload": "convert", "policy": {"retry_all": true}});
    let simulated = say(&mut operator, "/api/simulate", tried).await;
    let found = simulated.json();
    assert_eq!((&found["jobs"], &found["tried_longer"]), (&2.into(), &2.into()), "{found}");
    for asked in [
        json!({}),
        json!({"workload": "convert", "policy": {"preset": "none"}}),
        json!({"workload": "convert", "policy": {"max_attempts": 0}}),
        json!({"workload": "convert", "policy": {"deadline_sec": -1}}),
        json!({"workload": "convert", "policy": {"code_caps": {"NO_CODE": 1}}}),
        json!({"workload": "convert", "since": "yesterday"}),
    ] {
        let answer = say(&mut operator, "/api/simulate", asked.clone()).await;
        assert_eq!((answer.status, answer.code().as_str()), (400, "VALIDATION_INVALID_FIELD"), "{asked}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_is_wanted_drained_and_wanted_back() {
    let (_world, mut operator) = refused(1).await;
    let workers = operator.get("/api/workers").await.json();
    let id = workers["workers"][0]["id"].as_str().unwrap().to_owned();
    let path = format!("/api/workers/{id}/drain");
    let wanted = say(&mut operator, &path, json!({"reason": "replaced"})).await;
    assert_eq!((wanted.status, &wanted.json()["drain_wanted"]), (200, &true.into()), "{}", wanted.text());
    eventually(async || {
        let workers = operator.get("/api/workers").await.json();
        (workers["workers"][0]["state"] == "draining").then_some(())
    })
    .await;
    let back = say(&mut operator, &path, json!({"cancel": true})).await;
    assert_eq!(back.json()["drain_wanted"], false);
    eventually(async || {
        let workers = operator.get("/api/workers").await.json();
        (workers["workers"][0]["state"] == "alive").then_some(())
    })
    .await;
    let acts = operator.get("/api/audit").await.json();
    let told: Vec<(&Value, &Value)> = acts["acts"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|act| act["action"] == "worker.drain")
        .map(|act| (&act["outcome"], &act["reason"]))
        .collect();
    assert_eq!(told, [(&"not wanted any more".into(), &Value::Null), (&"wanted".into(), &"replaced".into())]);
    assert_eq!(operator.post("/api/workers/none/drain").await.code(), "NOT_FOUND");
    let slip = say(&mut operator, &path, json!({"undo": true})).await;
    assert_eq!(slip.code(), "VALIDATION_INVALID_FIELD");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_breaker_did_and_who_did_it_is_told_newest_first() {
    let world = World::start().await;
    let mut operator = world.operator();
    for (path, reason) in [("hold", "new release"), ("release", "it is out")] {
        let path = format!("/api/breakers/gateway/{path}");
        assert_eq!(say(&mut operator, &path, json!({"reason": reason})).await.status, 200);
    }
    say(&mut operator, "/api/breakers/host:a.example:443/hold", json!({})).await;
    let told = |list: &Value| -> Vec<String> {
        let turns = list["turns"].as_array().unwrap().iter();
        turns
            .map(|turn| format!("{} {} {} {}", turn["target"], turn["what"], turn["why"], turn["by"]))
            .collect()
    };
    let all = operator.get("/api/breakers/history").await.json();
    let by = "\"operator (token)\"";
    let gateway = [
        format!("\"gateway\" \"released\" \"it is out\" {by}"),
        format!("\"gateway\" \"held\" \"new release\" {by}"),
    ];
    assert_eq!(told(&all)[1..], gateway);
    assert_eq!(told(&all)[0], format!("\"host:a.example:443\" \"held\" null {by}"));
    let first = operator.get("/api/breakers/history?target=gateway&limit=1").await.json();
    assert_eq!(told(&first), gateway[..1]);
    let next =
        format!("/api/breakers/history?target=gateway&cursor={}", first["next_cursor"].as_str().unwrap());
    assert_eq!(told(&operator.get(&next).await.json()), gateway[1..]);
    for (bad, code) in [
        ("target=a%20b", "VALIDATION_INVALID_FIELD"),
        ("cursor=x", "VALIDATION_CURSOR"),
        ("until=1", "VALIDATION_UNKNOWN_FIELD"),
    ] {
        assert_eq!(operator.get(&format!("/api/breakers/history?{bad}")).await.code(), code, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_jobs_are_cancelled_by_filter_after_an_exact_count() {
    let world = World::with(|setup| setup.works = false).await;
    let (mut ann, mut operator) = (world.client(), world.operator());
    for n in 0..3 {
        assert_eq!(ann.upload(&format!("report {n}.pdf"), &pdf(n), None).await.status, 201);
    }
    let cancel = "/api/jobs/cancel";
    let filter = json!({"workload": "convert", "status": "queued", "q": "REPORT"});
    let counted = say(&mut operator, cancel, json!({"filter": filter, "dry_run": true})).await;
    let newest = operator.get("/api/jobs").await.json()["jobs"][0]["id"].clone();
    assert_eq!((counted.status, counted.json()), (200, json!({"matching": 3, "upto": newest})));
    // It comes after the count: only who does not say what was counted cancels it.
    let later = ann.upload("report 3.pdf", &pdf(3), None).await.job_id();
    let one =
        say(&mut operator, cancel, json!({"filter": filter, "upto": newest, "limit": 1, "reason": "a slip"}))
            .await;
    assert_eq!((one.status, one.json()), (200, json!({"cancelled": 1, "more": true})));
    let rest = say(&mut operator, cancel, json!({"filter": filter, "upto": newest})).await;
    assert_eq!(rest.json(), json!({"cancelled": 2, "more": false}));
    assert_eq!(ann.get(&format!("/api/jobs/{later}")).await.json()["status"], "queued");
    let last = say(&mut operator, cancel, json!({"filter": {"workload": "convert"}})).await;
    assert_eq!(last.json(), json!({"cancelled": 1, "more": false}));
    assert_eq!(ann.get("/api/jobs").await.json()["counts"], json!({"cancelled": 4}));
    let acts = operator.get("/api/audit").await.json();
    let act = &acts["acts"][2];
    assert_eq!(
        (&act["action"], &act["reason"], &act["outcome"]),
        (&"jobs.cancel".into(), &"a slip".into(), &"1 cancelled, more match".into()),
        "{acts}"
    );
    for (asked, code) in [
        (json!({}), "VALIDATION_FILTER_REQUIRED"),
        (json!({"filter": {"status": "queued"}}), "VALIDATION_FILTER_REQUIRED"),
        (json!({"filter": {"workload": "convert", "status": "processing"}}), "VALIDATION_INVALID_FIELD"),
        (
            json!({"filter": {"workload": "convert", "status": "failed"}, "dry_run": true}),
            "VALIDATION_INVALID_FIELD",
        ),
        (json!({"filter": {"workload": "convert"}, "limit": 0}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert"}, "upto": "7"}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert"}, "limit": 100_001}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert", "owner": "x"}}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "redrive.reclaim"}}), "CONFLICT_STATE"),
    ] {
        assert_eq!(say(&mut operator, cancel, asked.clone()).await.code(), code, "{asked}");
    }
    assert_eq!(
        say(&mut ann, cancel, json!({"filter": {"workload": "convert"}})).await.code(),
        "AUTH_REQUIRED"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dead_letters_are_discarded_by_filter_after_an_exact_count() {
    let (world, mut operator) = refused(3).await;
    let discard = "/api/dead-letters/discard";
    let found = letters(&mut operator).await;
    let (newest, group) = (found[0]["offset"].clone(), found[0]["group"].clone());
    let filter = json!({"group": group});
    let counted = say(&mut operator, discard, json!({"filter": filter, "dry_run": true})).await;
    assert_eq!((counted.status, counted.json()), (200, json!({"matching": 3, "upto": newest})));
    assert_eq!(letters(&mut operator).await.len(), 3, "a count changes nothing");
    // It dies after the count.
    world.gateway.mood(Mood::Refuses);
    world.converted(&mut world.client(), "later.pdf", &pdf(9)).await;
    let asked = json!({"filter": filter, "upto": newest, "limit": 1, "reason": "nobody wants it"});
    let one = say(&mut operator, discard, asked).await;
    assert_eq!((one.status, one.json()), (200, json!({"discarded": 1, "more": true})), "{}", one.text());
    let rest = say(&mut operator, discard, json!({"filter": filter, "upto": newest})).await;
    assert_eq!(rest.json(), json!({"discarded": 2, "more": false}));
    let left = letters(&mut operator).await;
    assert_eq!(left.len(), 1, "what died since stays");
    let gone = operator.get("/api/dead-letters?state=discarded").await.json();
    assert_eq!(gone["total"], 3, "{gone}");
    assert_eq!(
        say(&mut operator, discard, json!({"filter": {"code": "GW_TIMEOUT"}})).await.json(),
        json!({"discarded": 0, "more": false})
    );
    let acts = operator.get("/api/audit").await.json();
    let act = &acts["acts"][2];
    assert_eq!(
        (&act["action"], &act["reason"], &act["outcome"], &act["before"], &act["after"]),
        (
            &"dead.discard".into(),
            &"nobody wants it".into(),
            &"1 discarded, more match".into(),
            &"3 open".into(),
            &"2 open".into()
        ),
        "{acts}"
    );
    let subject = format!("dead letters group {}, up to {newest}", group.as_str().unwrap());
    assert_eq!(act["subject"], subject);
    for (asked, code) in [
        (json!({}), "VALIDATION_FILTER_REQUIRED"),
        (json!({"filter": {}, "dry_run": true}), "VALIDATION_FILTER_REQUIRED"),
        (json!({"filter": {"workload": ""}}), "VALIDATION_FILTER_REQUIRED"),
        (json!({"filter": {"group": "xyz"}}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert"}, "limit": 0}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert"}, "limit": 100_001}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"workload": "convert"}, "upto": "x"}), "VALIDATION_INVALID_FIELD"),
        (json!({"filter": {"state": "open"}}), "VALIDATION_INVALID_FIELD"),
    ] {
        assert_eq!(say(&mut operator, discard, asked.clone()).await.code(), code, "{asked}");
    }
    assert_eq!(say(&mut world.client(), discard, json!({"filter": filter})).await.code(), "AUTH_REQUIRED");
    assert_eq!(letters(&mut operator).await, left);
}

/// Where no kind of job is said, a dry run tells of each: whoever means all of them starts one replay after the other.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dry_run_without_a_kind_of_job_counts_each_kind() {
    let (_world, mut operator) = refused(2).await;
    let newest = letters(&mut operator).await[0]["offset"].clone();
    let counted = say(&mut operator, "/api/replays", json!({"dry_run": true})).await;
    let kind = json!({"workload": "convert", "matching": 2, "upto": newest});
    let expected = json!({"matching": 2, "upto": newest, "workloads": [kind]});
    assert_eq!((counted.status, counted.json()), (200, expected));
    let nothing = json!({"filter": {"code": "GW_TIMEOUT"}, "dry_run": true});
    let counted = say(&mut operator, "/api/replays", nothing).await;
    assert_eq!(counted.json(), json!({"matching": 0, "upto": null}));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_can_be_of_what_a_list_of_jobs_shows() {
    let (_world, mut operator) = refused(3).await;
    let count = async |operator: &mut Client, filter: Value| {
        say(operator, "/api/replays", json!({"filter": filter, "dry_run": true})).await.json()["matching"]
            .clone()
    };
    assert_eq!(count(&mut operator, json!({"workload": "convert", "label": "2.PDF"})).await, 1);
    assert_eq!(
        count(&mut operator, json!({"workload": "convert", "created_since": "2020-01-01T00:00:00Z"})).await,
        3
    );
    assert_eq!(
        count(&mut operator, json!({"workload": "convert", "created_since": "2999-01-01T00:00:00Z"})).await,
        0
    );
}

/// A crawl of many hosts has a breaker for each: lists of targets and workers come in pages like all others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn targets_come_in_pages_those_in_trouble_first() {
    let world = World::with(|setup| setup.works = false).await;
    let mut operator = world.operator();
    for n in 0..55 {
        let path = format!("/api/breakers/host:{n:02}.example:443");
        assert_eq!(operator.post(&format!("{path}/hold")).await.status, 200);
        // Only the last one stays held.
        if n < 54 {
            assert_eq!(operator.post(&format!("{path}/release")).await.status, 200);
        }
    }
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    for full in [20, 20, 15] {
        let list = operator.get(&format!("/api/breakers?limit=20{cursor}")).await.json();
        let targets = list["breakers"].as_array().unwrap();
        assert_eq!(targets.len(), full);
        seen.extend(targets.iter().map(|one| one["target"].as_str().unwrap().to_owned()));
        cursor = list["next_cursor"].as_str().map_or(String::new(), |next| format!("&cursor={next}"));
    }
    assert_eq!((seen.len(), cursor.as_str(), seen[0].as_str()), (55, "", "host:54.example:443"));
    assert!(seen[1..].is_sorted(), "{seen:?}");
    let usual = operator.get("/api/breakers").await.json();
    assert_eq!(usual["breakers"].as_array().unwrap().len(), 50);
    for bad in ["cursor=x", "cursor=2-gateway", "cursor=1-", "limit=0", "state=open"] {
        assert_eq!(operator.get(&format!("/api/breakers?{bad}")).await.status, 400, "{bad}");
    }
    for bad in ["cursor=x", "cursor=0_1_x", "cursor=0_x_1", "limit=0", "state=gone"] {
        assert_eq!(operator.get(&format!("/api/workers?{bad}")).await.status, 400, "{bad}");
    }
}
