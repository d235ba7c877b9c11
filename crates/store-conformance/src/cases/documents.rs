//! Documents of intake and their moves.

use std::sync::Arc;
use std::time::Duration;

use redrive_model::{Code, JobId, LeaseToken, Timestamp, instant};
use redrive_store::PageRequest;
use redrive_store::intake::{
    Began, DocumentChange, DocumentFilter, DocumentRow, Held, Hold, IntakeStore, MoveEnd, MoveRow, MoveState,
    NewDocument, NewMove, Stage, TakenIn,
};

use crate::Harness;
use crate::kit::{Kit, secs};

const ROOT: &str = "file:///srv/papers";

pub(super) fn new(id: JobId, path: &str) -> NewDocument {
    NewDocument {
        id,
        root: ROOT.into(),
        path: path.into(),
        key: format!("queue/{path}"),
        version: "100-1".into(),
        bytes: 100,
        owner: "jane".into(),
    }
}

fn to(document: JobId, token: i64, to: &str, why: &str) -> NewMove {
    NewMove { document, token: LeaseToken(token), to: to.into(), why: why.into(), meta: None }
}

async fn row(intake: &Arc<dyn IntakeStore>, id: JobId) -> DocumentRow {
    intake.document(id).await.unwrap().unwrap()
}

async fn hold(intake: &Arc<dyn IntakeStore>, id: JobId, token: i64) -> Held {
    match intake.take_hold(id, LeaseToken(token)).await.unwrap() {
        Hold::Held(held) => *held,
        other => panic!("{other:?}"),
    }
}

fn open(began: Began) -> MoveRow {
    match began {
        Began::Open(row) => row,
        other => panic!("{other:?}"),
    }
}

fn done(version: &str) -> MoveEnd {
    MoveEnd::Done { version: version.into(), note: None }
}

/// What lies where a document is being moved to may be that document: the copy is there before the row says so.
pub async fn a_place_to_which_a_document_is_moved_is_not_taken_in(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let (a, b, c) = (k.id(), k.id(), k.id());
    intake.take_in(vec![new(a, "x.pdf")]).await.unwrap();
    hold(&intake, a, 1).await;
    let out = open(intake.begin_move(to(a, 1, "pdf/x.pdf", "process")).await.unwrap());
    intake.end_move(out.number, done("v1")).await.unwrap();
    let back = open(intake.begin_move(to(a, 1, "queue/x.pdf", "retry")).await.unwrap());
    assert_eq!(intake.take_in(vec![new(b, "x.pdf")]).await.unwrap(), [TakenIn::Occupied(a)]);
    assert_eq!(intake.take_in(vec![new(c, "y.pdf")]).await.unwrap(), [TakenIn::New], "another key is free");
    assert!(intake.document(b).await.unwrap().is_none());
    intake.end_move(back.number, done("v1")).await.unwrap();
    assert_eq!(
        intake.take_in(vec![new(b, "x.pdf")]).await.unwrap(),
        [TakenIn::Occupied(a)],
        "now it is there"
    );
}

/// Taking a file in twice is taking it in once, and a key has one document that waits or runs.
pub async fn a_file_is_taken_in_once(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let (a, b, c) = (k.id(), k.id(), k.id());
    let taken = intake.take_in(vec![new(a, "x.pdf"), new(b, "team/y.pdf"), new(a, "x.pdf")]).await.unwrap();
    assert_eq!(taken, [TakenIn::New, TakenIn::New, TakenIn::Known]);
    assert_eq!(intake.take_in(vec![new(c, "x.pdf")]).await.unwrap(), [TakenIn::Occupied(a)]);
    let keys = vec!["queue/none.pdf".to_owned(), "queue/team/y.pdf".to_owned(), "queue/x.pdf".to_owned()];
    let found = intake.documents_at(ROOT, keys.clone()).await.unwrap();
    assert_eq!(
        found.iter().map(|row| row.as_ref().map(|row| row.id)).collect::<Vec<_>>(),
        [None, Some(b), Some(a)]
    );
    assert!(intake.documents_at("file:///elsewhere", keys).await.unwrap().iter().all(Option::is_none));
    let known = row(&intake, a).await;
    assert_eq!(
        (known.stage, known.place.as_str(), known.path.as_str()),
        (Stage::Waiting, "queue/x.pdf", "x.pdf")
    );
    assert_eq!((known.bytes, known.retries, known.exceeded, known.sha256), (100, 0, false, None));
    assert_eq!((known.created_at, known.updated_at), (k.now().await, k.now().await));
    // When it has ended, the key is free for the next upload.
    assert!(intake.change_document(a, LeaseToken(1), DocumentChange::stage(Stage::Done)).await.unwrap());
    assert_eq!(intake.take_in(vec![new(c, "x.pdf")]).await.unwrap(), [TakenIn::New]);
    let nameless = NewDocument { key: String::new(), ..new(k.id(), "z.pdf") };
    assert!(intake.take_in(vec![nameless]).await.is_err());
}

/// Of many who take the same file in at once, one does.
pub async fn many_who_take_a_file_in_make_one_document(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let id = k.id();
    let all = (0..10).map(|_| {
        let intake = intake.clone();
        tokio::spawn(async move { intake.take_in(vec![new(id, "x.pdf")]).await.unwrap() })
    });
    let mut news = 0;
    for one in all.collect::<Vec<_>>() {
        news += one.await.unwrap().iter().filter(|taken| **taken == TakenIn::New).count();
    }
    assert_eq!(news, 1);
}

/// An attempt that took hold shuts out those before it, whatever they want.
pub async fn a_newer_attempt_shuts_older_ones_out(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let id = k.id();
    assert_eq!(intake.take_hold(id, LeaseToken(1)).await.unwrap(), Hold::NotFound);
    intake.take_in(vec![new(id, "x.pdf")]).await.unwrap();
    let held = hold(&intake, id, 2).await;
    assert_eq!(held.open, None);
    let held = held.document;
    assert_eq!((held.stage, held.run), (Stage::Processing, LeaseToken(2)));
    assert!(matches!(intake.take_hold(id, LeaseToken(2)).await.unwrap(), Hold::Held(..)), "the same again");
    assert_eq!(intake.take_hold(id, LeaseToken(1)).await.unwrap(), Hold::Lost);
    let late = DocumentChange { sha256: Some("00".into()), ..DocumentChange::default() };
    assert!(!intake.change_document(id, LeaseToken(1), late).await.unwrap());
    assert_eq!(intake.begin_move(to(id, 1, "queue/x.pdf", "retry")).await.unwrap(), Began::Lost);
    assert_eq!(row(&intake, id).await.sha256, None);
    // What has ended stays so when somebody looks at it again.
    assert!(intake.change_document(id, LeaseToken(2), DocumentChange::stage(Stage::Done)).await.unwrap());
    assert_eq!(hold(&intake, id, 3).await.document.stage, Stage::Done);
}

/// A change says what it changes, and leaves the rest.
pub async fn a_document_keeps_what_a_change_does_not_name(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let id = k.id();
    intake.take_in(vec![new(id, "x.pdf")]).await.unwrap();
    let read = DocumentChange {
        version: Some(("120-2".into(), 120)),
        sha256: Some("abcd".into()),
        ..DocumentChange::default()
    };
    assert!(intake.change_document(id, LeaseToken(1), read).await.unwrap());
    k.advance(secs(5)).await;
    let failed = DocumentChange {
        stage: Some(Stage::Failed),
        retries: Some(4),
        exceeded: Some(true),
        failure: Some((Code::NotPdf, "no PDF".into())),
        report: Some("reports/x.docx".into()),
        ..DocumentChange::default()
    };
    assert!(intake.change_document(id, LeaseToken(1), failed).await.unwrap());
    let now = row(&intake, id).await;
    assert_eq!((now.version.as_str(), now.bytes, now.sha256.as_deref()), ("120-2", 120, Some("abcd")));
    assert_eq!((now.stage, now.retries, now.exceeded), (Stage::Failed, 4, true));
    assert_eq!(now.failure, Some((Code::NotPdf, "no PDF".into())));
    assert_eq!(now.report.as_deref(), Some("reports/x.docx"));
    assert_eq!(now.updated_at, k.now().await);
    assert!(!intake.change_document(k.id(), LeaseToken(1), DocumentChange::default()).await.unwrap());
}

/// A move is written down before it is made, one at a time, and its end says where the document is.
pub async fn a_move_is_an_intent_that_anybody_can_finish(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let id = k.id();
    assert_eq!(intake.begin_move(to(id, 1, "pdf/x.pdf", "process")).await.unwrap(), Began::NotFound);
    intake.take_in(vec![new(id, "x.pdf")]).await.unwrap();
    let intent =
        NewMove { meta: Some("{\"retry-count\":\"1\"}".into()), ..to(id, 1, "pdf/x.pdf", "process") };
    let first = open(intake.begin_move(intent.clone()).await.unwrap());
    assert_eq!((first.from.as_str(), first.to.as_str()), ("queue/x.pdf", "pdf/x.pdf"));
    assert_eq!((first.version.as_str(), first.state, first.ended_at), ("100-1", MoveState::Open, None));
    assert_eq!(first.meta, intent.meta);
    assert_eq!(open(intake.begin_move(intent).await.unwrap()), first, "wanted twice, written once");
    assert_eq!(
        intake.begin_move(to(id, 1, "failed/x.pdf", "failed")).await.unwrap(),
        Began::Other(first.clone()),
        "the open one comes first"
    );
    assert_eq!(hold(&intake, id, 5).await.open, Some(first.clone()), "whoever takes hold hears of it");
    assert_eq!(intake.open_moves(ROOT, 0, 10).await.unwrap(), vec![first.clone()]);
    assert!(intake.open_moves(ROOT, first.number, 10).await.unwrap().is_empty());
    assert!(intake.open_moves("file:///elsewhere", 0, 10).await.unwrap().is_empty());
    k.advance(secs(3)).await;
    assert!(intake.end_move(first.number, done("100-9")).await.unwrap());
    assert!(!intake.end_move(first.number, done("0-0")).await.unwrap(), "ended once");
    let now = row(&intake, id).await;
    assert_eq!((now.place.as_str(), now.version.as_str()), ("pdf/x.pdf", "100-9"));
    assert_eq!(intake.begin_move(to(id, 5, "pdf/x.pdf", "process")).await.unwrap(), Began::There);
    let trail = intake.moves_of(id).await.unwrap();
    assert_eq!(
        trail.iter().map(|m| (m.state, m.ended_at)).collect::<Vec<_>>(),
        [(MoveState::Done, Some(k.now().await))]
    );
}

/// A name that is taken is evaded once, by whoever says so first.
pub async fn a_move_whose_name_is_taken_goes_elsewhere(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let id = k.id();
    intake.take_in(vec![new(id, "x.pdf")]).await.unwrap();
    let first = open(intake.begin_move(to(id, 1, "pdf/x.pdf", "process")).await.unwrap());
    let other = intake.redirect_move(first.number, "pdf/x.pdf", "pdf/x-2.pdf").await.unwrap().unwrap();
    assert_eq!(other.to, "pdf/x-2.pdf");
    let late = intake.redirect_move(first.number, "pdf/x.pdf", "pdf/x-3.pdf").await.unwrap().unwrap();
    assert_eq!(late.to, "pdf/x-2.pdf", "who comes later hears where it goes");
    assert!(intake.end_move(first.number, done("v")).await.unwrap());
    assert_eq!(row(&intake, id).await.place, "pdf/x-2.pdf");
    assert_eq!(intake.redirect_move(first.number, "pdf/x-2.pdf", "pdf/x-4.pdf").await.unwrap(), None);
}

/// A document that a person took away is gone, and its move says so. One whose place another has now is gone too.
pub async fn what_a_person_took_away_is_gone(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let (a, b, c) = (k.id(), k.id(), k.id());
    intake.take_in(vec![new(a, "x.pdf"), new(b, "y.pdf"), new(c, "z.pdf")]).await.unwrap();
    let lost = open(intake.begin_move(to(a, 1, "pdf/x.pdf", "process")).await.unwrap());
    let end = MoveEnd::Lost { note: "nobody knows where it is".into() };
    assert!(intake.end_move(lost.number, end).await.unwrap());
    assert_eq!(row(&intake, a).await.stage, Stage::Gone);
    let trail = intake.moves_of(a).await.unwrap();
    assert_eq!(trail[0].state, MoveState::Lost);
    assert_eq!(trail[0].note.as_deref(), Some("nobody knows where it is"));
    // The row of `b` says `queue/y.pdf`; now `c` really lies there.
    let moved = open(intake.begin_move(to(c, 1, "queue/y.pdf", "retry")).await.unwrap());
    assert!(intake.end_move(moved.number, done("v")).await.unwrap());
    assert_eq!(
        (row(&intake, b).await.stage, row(&intake, c).await.place.as_str()),
        (Stage::Gone, "queue/y.pdf")
    );
}

/// Documents are found by stage, owner and text, newest first, each exactly once.
pub async fn documents_are_listed_and_counted(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let mut ids = Vec::new();
    for n in 0..7 {
        let id = k.id();
        let owner = if n % 2 == 0 { "jane" } else { "Ann" };
        let one = NewDocument { owner: owner.into(), ..new(id, &format!("Team-{}/{n}.pdf", n % 3)) };
        intake.take_in(vec![one]).await.unwrap();
        if n >= 4 {
            intake.change_document(id, LeaseToken(1), DocumentChange::stage(Stage::Failed)).await.unwrap();
        }
        ids.push(id);
    }
    let elsewhere = NewDocument { root: "s3://elsewhere".into(), ..new(k.id(), "0.pdf") };
    intake.take_in(vec![elsewhere]).await.unwrap();
    assert_eq!(intake.document_counts(ROOT).await.unwrap(), [(Stage::Failed, 3), (Stage::Waiting, 4)]);
    assert_eq!(intake.live_documents(ROOT).await.unwrap(), 4);
    let all = DocumentFilter { root: ROOT.into(), ..DocumentFilter::default() };
    let listed = |filter: DocumentFilter| {
        let intake = intake.clone();
        async move {
            let (mut seen, mut cursor) = (Vec::new(), None);
            loop {
                let page = intake.documents(filter.clone(), PageRequest { limit: 2, cursor }).await.unwrap();
                assert!(page.rows.len() <= 2);
                seen.extend(page.rows.iter().map(|row| row.id));
                match page.next {
                    Some(next) => cursor = Some(next),
                    None => return seen,
                }
            }
        }
    };
    let newest: Vec<JobId> = ids.iter().rev().copied().collect();
    assert_eq!(listed(all.clone()).await, newest);
    let failed = DocumentFilter { stages: vec![Stage::Failed], ..all.clone() };
    assert_eq!(listed(failed).await, newest[..3]);
    let of_ann = DocumentFilter { owner: Some("Ann".into()), ..all.clone() };
    assert_eq!(listed(of_ann).await, [ids[5], ids[3], ids[1]]);
    let text = DocumentFilter { text: Some("tEAM-2".into()), ..all.clone() };
    assert_eq!(listed(text).await, [ids[5], ids[2]]);
    let bad = PageRequest { limit: 2, cursor: Some("nonsense".into()) };
    assert!(intake.documents(all, bad).await.is_err());
}

/// A document that waits or runs needs a job that can end it: one without, and one whose job ended long enough ago, are told.
pub async fn documents_whose_job_is_gone_or_over_are_told(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let complete = k.put_one(k.job()).await;
    k.complete(&k.claim_one().await).await;
    let failed = k.put_dead(vec![k.job()]).await[0];
    let cancelled = k.put_one(k.job()).await;
    k.cancel(cancelled).await;
    let queued = k.put_one(k.job()).await;
    let (gone, done, elsewhere) = (k.id(), k.id(), k.id());
    let named = [(queued, "q"), (complete, "c"), (failed, "f"), (cancelled, "x"), (gone, "g"), (done, "d")];
    let mut documents: Vec<NewDocument> = named.map(|(id, name)| new(id, &format!("{name}.pdf"))).into();
    documents.push(NewDocument { root: "file:///elsewhere".into(), ..new(elsewhere, "e.pdf") });
    intake.take_in(documents).await.unwrap();
    intake.change_document(done, LeaseToken(1), DocumentChange::stage(Stage::Done)).await.unwrap();
    let told = async |ended: Timestamp, after: Option<JobId>, limit: usize| -> Vec<JobId> {
        let rows = intake.astray(ROOT, ended, after, limit).await.unwrap();
        rows.into_iter().map(|row| row.id).collect()
    };
    let now = k.now().await;
    let just_before = instant::before(now, Duration::from_millis(1));
    assert_eq!(told(just_before, None, 10).await, [gone], "the others may still be heard of");
    let mut all = vec![gone, complete, failed, cancelled];
    all.sort();
    assert_eq!(told(now, None, 10).await, all);
    assert_eq!(told(now, None, 2).await, all[..2]);
    assert_eq!(told(now, Some(all[1]), 10).await, all[2..]);
}

/// A document is forgotten when it has ended, its time is over and its job is gone; its moves go with it.
pub async fn documents_are_forgotten_after_their_jobs(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let (ended, live) = (k.id(), k.id());
    let with_job = k.put_one(k.job()).await;
    intake.take_in(vec![new(ended, "a.pdf"), new(live, "b.pdf"), new(with_job, "c.pdf")]).await.unwrap();
    let moved = open(intake.begin_move(to(ended, 1, "result/a.pdf", "done")).await.unwrap());
    intake.end_move(moved.number, done("v")).await.unwrap();
    for id in [ended, with_job] {
        intake.change_document(id, LeaseToken(1), DocumentChange::stage(Stage::Done)).await.unwrap();
    }
    let now = k.now().await;
    assert_eq!(intake.forget_documents(now, 10).await.unwrap(), 0, "too young");
    k.advance(secs(1)).await;
    assert_eq!(intake.forget_documents(k.now().await, 10).await.unwrap(), 1);
    assert_eq!(intake.document(ended).await.unwrap(), None);
    assert!(intake.moves_of(ended).await.unwrap().is_empty());
    assert!(
        intake.document(live).await.unwrap().is_some() && intake.document(with_job).await.unwrap().is_some()
    );
}
