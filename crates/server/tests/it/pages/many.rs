//! The operators' list of jobs: every filter in the address and in the form, and one act on all that match.

use redrive_engine::Input;
use redrive_model::limits::MAX_REACH;

use super::reader::{press, text, visit};
use crate::desk::refused;
use crate::world::{World, eventually, pdf};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_form_asks_in_the_words_of_the_api_and_keeps_them() {
    let (_world, mut operator) = refused(3).await;
    let page = visit(
        &mut operator,
        "/jobs?workload=convert&status=failed&code=GW_4XX&q=.pdf&since=2020-01-01&limit=2",
    )
    .await;
    assert_eq!(page.all("#jobs tbody tr").len(), 2);
    for (field, value) in [("q", ".pdf"), ("code", "GW_4XX"), ("since", "2020-01-01")] {
        assert_eq!(page.one(&format!("form.search #{field}")).attr("value"), Some(value), "{field}");
    }
    assert_eq!(page.one("#since").attr("type"), Some("date"));
    assert_eq!(page.text("#workload option[selected]"), "convert");
    assert_eq!(page.text("#status option[selected]"), "Failed");
    let older = page.one("a[rel=next]").attr("href").unwrap().to_owned();
    for kept in ["workload=convert", "status=failed", "code=GW_4XX", "q=.pdf", "since=2020-01-01"] {
        assert!(older.contains(kept), "{older}");
    }
    assert_eq!(visit(&mut operator, &older).await.all("#jobs tbody tr").len(), 1);
    let instant = visit(&mut operator, "/jobs?since=2020-01-01T10%3A00%3A00Z&workload=gone").await;
    assert_eq!(instant.one("#since").attr("type"), Some("text"), "a field for days would forget the time");
    assert_eq!(instant.text("#workload option[selected]"), "gone");
    let mut ann = _world.client();
    assert!(
        visit(&mut ann, "/jobs").await.all("#workload, #code, #since").is_empty(),
        "others have less to ask"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_failed_jobs_that_match_are_replayed_by_the_form_that_counts_them() {
    let (_world, mut operator) = refused(3).await;
    let all = visit(&mut operator, "/jobs?status=failed").await;
    assert_eq!(all.text(".many a"), "Replay all 3 that wait …");
    let kinds = visit(&mut operator, all.one(".many a").attr("href").unwrap()).await;
    assert_eq!(kinds.text("#kinds tbody a"), "Replay all 3 of convert …");
    let of_one = kinds.one("#kinds tbody a").attr("href").unwrap().to_owned();
    assert_eq!(visit(&mut operator, &of_one).await.text("#replay button"), "Replay 3 jobs");
    let list = visit(&mut operator, "/jobs?status=failed&workload=convert&q=2.pdf").await;
    assert_eq!(list.text(".many a"), "Count and replay all that match …");
    let offer = list.one(".many a").attr("href").unwrap().to_owned();
    assert_eq!(offer, "/jobs/replay?workload=convert&status=failed&q=2.pdf");
    let form = visit(&mut operator, &offer).await;
    assert_eq!(form.text("#replay button"), "Replay 1 job");
    let kept: Vec<String> = form
        .all("#replay input[type=hidden]")
        .iter()
        .map(|input| format!("{}={}", input.attr("name").unwrap(), input.attr("value").unwrap()))
        .collect();
    let upto = operator.get("/api/dead-letters").await.json()["dead_letters"][0]["offset"].clone();
    assert_eq!(kept, ["workload=convert", "status=failed", "q=2.pdf", &format!("upto={upto}")]);
    let flawed =
        press(&mut operator, "/jobs/replay", &format!("{}&canary=x&rate=5&stop=20", kept.join("&"))).await;
    assert_eq!(flawed.status, 400, "{}", flawed.text());
    let fields = format!("{}&canary=1&rate=50&stop=50&reason=mended", kept.join("&"));
    let started = press(&mut operator, "/jobs/replay", &fields).await;
    assert_eq!(started.status, 303, "{}", started.text());
    let replay = started.header("location").unwrap().to_owned();
    eventually(async || {
        let page = visit(&mut operator, &replay).await;
        (page.text(".how strong") == "Done").then_some(())
    })
    .await;
    let left = visit(&mut operator, "/jobs?status=failed&workload=convert").await;
    assert_eq!(left.all("#jobs tbody tr").len(), 2, "what did not match was left alone");
    let none = visit(&mut operator, "/jobs/replay?status=failed&code=GW_TIMEOUT").await;
    assert_eq!(none.text("#kinds"), "Nothing waits: there is nothing to replay.");
    assert_eq!(press(&mut operator, "/jobs/replay", "canary=1&rate=50&stop=50").await.status, 400);
    for bad in ["/jobs/replay?workload=convert&batch=x", "/jobs/replay?x=1"] {
        assert_eq!(visit(&mut operator, bad).await.answer.status, 400, "{bad}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_waiting_jobs_that_match_are_cancelled_after_they_were_counted() {
    let world = World::with(|setup| setup.works = false).await;
    let (mut ann, mut operator) = (world.client(), world.operator());
    for n in 0..3 {
        assert_eq!(ann.upload(&format!("{n}.pdf"), &pdf(n), None).await.status, 201);
    }
    let list = visit(&mut operator, "/jobs?status=queued&workload=convert").await;
    let offer = list.one(".many a").attr("href").unwrap().to_owned();
    let form = visit(&mut operator, &offer).await;
    assert_eq!(form.text("#cancel button"), "Cancel 3 jobs");
    let upto = form.one("#cancel input[name=upto]").attr("value").unwrap().to_owned();
    // One more comes: it is not cancelled, and those that the person was told of are.
    let later = ann.upload("3.pdf", &pdf(3), None).await.job_id();
    let fields = format!("workload=convert&status=queued&most=3&upto={upto}&reason=a+slip");
    let done = press(&mut operator, "/jobs/cancel", &fields).await;
    assert_eq!((done.status, done.header("location")), (303, Some("/jobs?workload=convert&status=queued")));
    let left = visit(&mut operator, "/jobs?status=queued&workload=convert").await;
    assert_eq!(left.all("#jobs tbody tr").len(), 1);
    assert_eq!(ann.get(&format!("/api/jobs/{later}")).await.json()["status"], "queued");
    let kinds = visit(&mut operator, "/jobs/cancel?status=queued").await;
    assert_eq!(kinds.text("#kinds tbody a"), "Cancel all 1 of convert …");
    assert!(text(visit(&mut operator, "/audit").await.all("tbody tr")[0]).contains("a slip"));
    assert!(visit(&mut operator, "/jobs").await.all(".many").is_empty(), "not without a filter");
    assert_eq!(
        press(&mut operator, "/jobs/cancel", "workload=convert&status=queued").await.status,
        400,
        "how many?"
    );
    assert_eq!(press(&mut operator, "/jobs/cancel", "status=queued&most=3").await.status, 400);
}

#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Hay(i64);

impl Input for Hay {
    const WORKLOAD: &'static str = "hay";
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_looked_at_many_in_vain_leads_on_and_an_id_is_found_at_once() {
    let world = World::start().await;
    let mut ann = world.client();
    let needle = world.converted(&mut ann, "needle.pdf", &pdf(1)).await;
    let hay: Vec<Hay> = (0..MAX_REACH).map(Hay).collect();
    for some in hay.chunks(1_000) {
        world.engine.enqueue_many(some).await.unwrap();
    }
    let mut operator = world.operator();
    let first = visit(&mut operator, "/jobs?q=needle").await;
    assert_eq!(
        first.text(".empty p"),
        "None of the 20,000 jobs that were looked at matches. There are older ones."
    );
    let older = visit(&mut operator, first.one(".empty a[rel=next]").attr("href").unwrap()).await;
    assert_eq!(older.all("#jobs tbody tr").len(), 1);
    assert!(older.text("#jobs tbody").contains("needle.pdf"));
    let named = visit(&mut operator, &format!("/jobs?q={needle}")).await;
    assert!(named.text("#jobs tbody").contains("needle.pdf"));
    // Somebody else's is not found that way.
    assert!(visit(&mut world.client(), &format!("/jobs?q={needle}")).await.all("#jobs tbody tr").is_empty());
}
