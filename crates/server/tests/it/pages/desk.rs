//! The operator's pages, by plain links and forms: from a cause to its replay, targets, workers, the trail.

use redrive_engine::model::State;

use super::reader::{BROWSER, Page, SCRIPT, press, visit};
use crate::client::Client;
use crate::desk::refused;
use crate::gateway::Mood;
use crate::world::{World, eventually, pdf};

/// The address of the only cause.
async fn cause(operator: &mut Client) -> String {
    visit(operator, "/dead").await.one("tbody th a").attr("href").unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn from_the_cause_to_a_replay_that_is_done() {
    let (_world, mut operator) = refused(3).await;
    let list = visit(&mut operator, "/dead?state=new").await;
    assert_eq!(list.text("tbody td[data-of=Waiting]"), "3");
    assert_eq!(list.text("nav.tabs a[aria-current=true]"), "New");
    let cause = cause(&mut operator).await;
    let page = visit(&mut operator, &cause).await;
    assert_eq!(page.text("#replay button"), "Replay 3 jobs");
    let entry = redrive_model::Code::ParseError.entry();
    assert!(
        page.text(".sentences").contains(entry.what_you_can_do),
        "in the words of the very code: {}",
        page.text(".sentences")
    );
    let typed: Vec<&str> =
        page.all("#replay input[type=number]").iter().map(|i| i.attr("value").unwrap()).collect();
    assert_eq!(typed, ["3", "5", "20"], "what is usual");
    let started =
        press(&mut operator, &format!("{cause}/replay"), "canary=1&rate=50&stop=50&reason=mended").await;
    assert_eq!(started.status, 303, "{}", started.text());
    let replay = started.header("location").unwrap().to_owned();
    let done = eventually(async || {
        let page = visit(&mut operator, &replay).await;
        (page.text(".how strong") == "Done").then_some(page)
    })
    .await;
    assert_eq!(done.text(".how .fine"), "3 of 3 complete");
    assert!(done.text("dl.facts").contains("50 % that fail again"));
    assert!(done.all("#replay form").is_empty(), "nothing can be done with one that has ended");
    assert!(done.one("#replay").attr("hx-trigger").is_none(), "and it is not asked about again");
    assert_eq!(visit(&mut operator, "/replays").await.text("tbody td strong"), "Done");
    let page = visit(&mut operator, &cause).await;
    assert_eq!(page.text("#replay p"), "Nothing waits: there is nothing to replay.");
    let trail = visit(&mut operator, "/audit").await;
    assert!(trail.text("tbody").contains("mended"), "{}", trail.answer.text());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_of_a_cause_is_discarded_by_a_form_that_asks_once_more() {
    let (world, mut operator) = refused(3).await;
    let cause = cause(&mut operator).await;
    let page = visit(&mut operator, &cause).await;
    assert_eq!(page.text("#discard summary"), "Discard all …");
    assert_eq!(page.text("#discard button"), "Yes, discard 3 jobs");
    let upto = page.one("#discard input[name=upto]").attr("value").unwrap().to_owned();
    // One more dies after the person was told of three.
    world.gateway.mood(Mood::Refuses);
    world.converted(&mut world.client(), "later.pdf", &pdf(9)).await;
    let fields = format!("upto={upto}&reason=nobody+wants+them");
    let done = press(&mut operator, &format!("{cause}/discard"), &fields).await;
    assert_eq!((done.status, done.header("location")), (303, Some(cause.as_str())), "{}", done.text());
    let page = visit(&mut operator, &cause).await;
    assert_eq!(page.text("#discard button"), "Yes, discard 1 job");
    assert!(visit(&mut operator, "/audit").await.text("tbody").contains("nobody wants them"));
    assert_eq!(press(&mut operator, &format!("{cause}/discard"), "reason=x").await.status, 400, "how many?");
    let upto = page.one("#discard input[name=upto]").attr("value").unwrap();
    press(&mut operator, &format!("{cause}/discard"), &format!("upto={upto}")).await;
    assert!(visit(&mut operator, &cause).await.all("#discard").is_empty(), "nothing is left");
}

/// The form was open while the last of them was started again elsewhere.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_of_nothing_is_told_and_its_form_is_not_offered_again() {
    let (_world, mut operator) = refused(1).await;
    let cause = cause(&mut operator).await;
    let offset = operator.get("/api/dead-letters").await.json()["dead_letters"][0]["offset"].clone();
    assert_eq!(operator.post(&format!("/api/dead-letters/{offset}/discard")).await.status, 200);
    let answer = press(&mut operator, &format!("{cause}/replay"), "canary=3&rate=5&stop=20").await;
    assert_eq!(answer.status, 404, "{}", answer.text());
    let page = Page::read(answer);
    assert!(page.all("#replay form").is_empty(), "{}", page.text("#replay"));
    assert_eq!(page.text("#replay p.fine"), "Nothing waits: there is nothing to replay.");
    assert_eq!(page.text("#replay [role=alert]"), "Nothing was started: No open dead letter matches.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replay_that_cannot_be_meant_is_shown_again_with_what_was_typed() {
    let (_world, mut operator) = refused(1).await;
    let cause = cause(&mut operator).await;
    for (fields, said) in [
        (
            "canary=x&rate=5&stop=20&reason=a%3Cb",
            "Nothing was started: Try so many first: is no whole number",
        ),
        ("canary=3&rate=0&stop=20&reason=a%3Cb", "Nothing was started: rate_per_sec: is no number from 1"),
        (
            "canary=3&rate=5&stop=101&reason=a%3Cb",
            "Nothing was started: Stop when: is no share from 0 to 100 %",
        ),
    ] {
        let answer = press(&mut operator, &format!("{cause}/replay"), fields).await;
        assert_eq!(answer.status, 400, "{fields}");
        let page = Page::read(answer);
        assert_eq!(page.text("#replay [role=alert]"), said);
        assert_eq!(page.one("#reason").attr("value"), Some("a<b"));
    }
    assert_eq!(visit(&mut operator, "/replays").await.all("tbody tr").len(), 0);
    assert_eq!(operator.ask("GET", "/dead/xyz", BROWSER).await.status, 404);
    assert_eq!(operator.ask("GET", "/dead?stat=new", BROWSER).await.status, 400);
    assert_eq!(operator.ask("GET", &format!("{cause}?x=1"), BROWSER).await.status, 400);
    assert_eq!(press(&mut operator, &cause, "act=burn").await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cause_is_looked_at_and_mended_and_one_of_its_jobs_is_acted_on_alone() {
    let (world, mut operator) = refused(2).await;
    let cause = cause(&mut operator).await;
    let page = visit(&mut operator, &cause).await;
    let buttons: Vec<String> = page.all(".head button").iter().map(|b| b.text().collect()).collect();
    assert_eq!(buttons, ["Acknowledge", "Mark as fixed"]);
    assert_eq!(
        page.all("form.acts input[name=reason], tbody form input[name=reason]").len(),
        3,
        "for each act"
    );
    let sure = page.all("tbody form details button");
    assert_eq!(sure.iter().map(|one| one.attr("value").unwrap()).collect::<Vec<_>>(), ["discard", "discard"]);
    let letters: Vec<String> =
        page.all("tbody form").iter().map(|form| form.attr("action").unwrap().to_owned()).collect();
    assert_eq!(letters.len(), 2);
    let discarded = press(&mut operator, &letters[0], "act=discard&reason=not+wanted").await;
    assert_eq!((discarded.status, discarded.header("location")), (303, Some(cause.as_str())));
    assert_eq!(press(&mut operator, &letters[0], "act=discard").await.status, 409, "once");
    let again = press(&mut operator, &letters[1], "act=replay").await;
    let job = again.header("location").unwrap().strip_prefix("/jobs/").unwrap().to_owned();
    world.ended(&job).await;
    let job = world.engine.job(job.parse().unwrap()).await.unwrap().unwrap();
    assert_eq!((job.state, job.generation), (State::Complete, 2));
    assert_eq!(press(&mut operator, &cause, "act=ack").await.status, 303);
    assert_eq!(visit(&mut operator, &cause).await.text(".how .toned"), "Acknowledged");
    assert_eq!(press(&mut operator, &cause, "act=resolve").await.status, 303);
    assert_eq!(press(&mut operator, &cause, "act=ack").await.status, 409);
    assert_eq!(visit(&mut operator, "/dead?state=resolved").await.all("tbody tr").len(), 1);
    assert_eq!(visit(&mut operator, "/dead?state=new").await.text(".empty"), "Nothing of this kind.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_is_held_and_let_go_and_workers_are_told() {
    let world = World::start().await;
    let mut operator = world.operator();
    let held =
        press(&mut operator, "/breakers", "act=hold&target=host%3Aa.example%3A443&reason=maintenance").await;
    assert_eq!((held.status, held.header("location")), (303, Some("/breakers")), "{}", held.text());
    let page = visit(&mut operator, "/breakers").await;
    let row =
        page.all("tbody tr").into_iter().find(|row| row.text().any(|t| t == "host:a.example:443")).unwrap();
    let said: String = row.text().collect();
    assert!(said.contains("Held by an operator") && said.contains("maintenance"), "{said}");
    let by_the_hour = "act=hold&target=host%3Aa.example%3A443&seconds=3600";
    assert_eq!(press(&mut operator, "/breakers", by_the_hour).await.status, 303);
    let page = visit(&mut operator, "/breakers").await;
    assert!(page.text("#breakers > table").contains("It ends in "), "{}", page.text("#breakers > table"));
    assert_eq!(press(&mut operator, "/breakers", &by_the_hour.replace("3600", "7")).await.status, 400);
    let freed = press(&mut operator, "/breakers", "act=release&target=host%3Aa.example%3A443").await;
    assert_eq!(freed.status, 303);
    let did = visit(&mut operator, "/breakers?target=host%3Aa.example%3A443").await;
    let turns: Vec<String> =
        did.all("#turns tbody td strong").iter().map(|word| word.text().collect()).collect();
    assert_eq!(turns, ["Let go", "Held", "Held"]);
    assert!(did.text("#turns tbody").contains("by operator (token) maintenance"), "{}", did.text("#turns"));
    assert_eq!(did.one("#breakers").attr("hx-get"), Some("/breakers?target=host%3Aa.example%3A443"));
    let wrong = press(&mut operator, "/breakers", "act=hold&target=&reason=why").await;
    assert_eq!(wrong.status, 400);
    let page = Page::read(wrong);
    assert!(page.text("main [role=alert]").starts_with("Nothing is held: "));
    assert_eq!(page.one("#reason").attr("value"), Some("why"));
    let piece = Page::piece(operator.ask("GET", "/breakers", SCRIPT).await);
    assert_eq!(piece.all("#breakers").len(), 1);
    let workers = eventually(async || {
        let page = visit(&mut operator, "/workers").await;
        (page.all("tbody tr").len() == 1).then_some(page)
    })
    .await;
    assert_eq!(workers.text("tbody td strong"), "Alive");
    let worker = workers.one("tbody form").attr("action").unwrap().to_owned();
    assert_eq!(press(&mut operator, &worker, "act=drain&reason=a+new+disk").await.status, 303);
    assert_eq!(visit(&mut operator, "/workers").await.text("tbody button"), "Take work again");
    assert_eq!(press(&mut operator, &worker, "act=back").await.status, 303);
    assert_eq!(visit(&mut operator, "/workers").await.text("tbody button"), "Drain");
    assert_eq!(press(&mut operator, &worker, "act=shoot").await.status, 400);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_targets_lead_on_to_more_and_the_piece_stays_where_it_is() {
    let world = World::with(|setup| setup.works = false).await;
    let mut operator = world.operator();
    for n in 0..52 {
        let path = format!("/api/breakers/host:{n:02}.example:443/hold");
        assert_eq!(operator.post(&path).await.status, 200);
    }
    let first = visit(&mut operator, "/breakers").await;
    assert_eq!(first.all("#breakers > table tbody tr").len(), 50);
    let more = first.one("nav[aria-label='More targets'] a[rel=next]").attr("href").unwrap().to_owned();
    let second = visit(&mut operator, &more).await;
    assert_eq!(second.all("#breakers > table tbody tr").len(), 2);
    assert_eq!(second.one("#breakers").attr("hx-get"), Some(more.as_str()));
    assert_eq!(second.one("nav[aria-label='More targets'] a").attr("href"), Some("/breakers"));
    // What they did has its own place in the address.
    let both = visit(&mut operator, &format!("{more}&target=gateway")).await;
    assert_eq!(both.all("#breakers > table tbody tr").len(), 2);
    assert_eq!(visit(&mut operator, "/breakers?after=x").await.answer.status, 400);
    assert_eq!(visit(&mut operator, "/workers?cursor=x").await.answer.status, 400);
}
