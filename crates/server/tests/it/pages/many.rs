//! The operators' list of jobs: every filter in the address and in the form, and one act on all that match.

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
    assert_eq!(all.text(".many"), "Choose a kind of job above, and you can replay all that match.");
    let list = visit(&mut operator, "/jobs?status=failed&workload=convert&q=2.pdf").await;
    let offer = list.one(".many a").attr("href").unwrap().to_owned();
    assert_eq!(offer, "/jobs/replay?workload=convert&status=failed&q=2.pdf");
    let form = visit(&mut operator, &offer).await;
    assert_eq!(form.text("#replay button"), "Replay 1 job");
    let kept: Vec<String> = form
        .all("#replay input[type=hidden]")
        .iter()
        .map(|input| format!("{}={}", input.attr("name").unwrap(), input.attr("value").unwrap()))
        .collect();
    assert_eq!(kept, ["workload=convert", "status=failed", "q=2.pdf"]);
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
    for bad in [
        "/jobs/replay",
        "/jobs/replay?status=failed",
        "/jobs/replay?workload=convert&batch=x",
        "/jobs/replay?x=1",
    ] {
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
    // One more comes: no more are cancelled than the person was told.
    ann.upload("3.pdf", &pdf(3), None).await;
    let fields = "workload=convert&status=queued&most=3&reason=a+slip";
    let done = press(&mut operator, "/jobs/cancel", fields).await;
    assert_eq!((done.status, done.header("location")), (303, Some("/jobs?workload=convert&status=queued")));
    let left = visit(&mut operator, "/jobs?status=queued&workload=convert").await;
    assert_eq!(left.all("#jobs tbody tr").len(), 1);
    assert!(text(visit(&mut operator, "/audit").await.all("tbody tr")[0]).contains("a slip"));
    assert!(visit(&mut operator, "/jobs").await.all(".many").is_empty(), "not without a filter");
    assert_eq!(
        press(&mut operator, "/jobs/cancel", "workload=convert&status=queued").await.status,
        400,
        "how many?"
    );
    assert_eq!(press(&mut operator, "/jobs/cancel", "status=queued&most=3").await.status, 400);
}
