//! What failed of documents, who was told, and where to.

use redrive_model::{Code, JobId, LeaseToken, Timestamp};
use redrive_store::PageRequest;
use redrive_store::intake::{
    Delivery, DeliveryState, DocumentChange, FailureRecord, Notification, RecordFilter, Stage, Told, ToldNow,
};
use uuid::Uuid;

use super::documents::new;
use crate::Harness;
use crate::kit::{Kit, secs};

async fn record(k: &Kit<'_>, document: JobId, n: u128, retry_count: u32) -> FailureRecord {
    FailureRecord {
        failure_id: Uuid::from_u128(n),
        document,
        timestamp: k.now().await,
        owner: "jane".into(),
        pdf_key: "pdf/x.pdf".into(),
        queue_key: (retry_count < 4).then(|| "queue/x.pdf".into()),
        failed_key: (retry_count == 4).then(|| "failed/x.pdf".into()),
        retry_count,
        max_retries_exceeded: retry_count == 4,
        code: if retry_count == 4 { Code::NotPdf } else { Code::GwTimeout },
        failure_reason: "The Gateway took too long".into(),
        notified: false,
    }
}

/// A record is written once, with every field, and found by every filter.
pub async fn failure_records_are_kept_and_found(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let (a, b) = (k.id(), k.id());
    let mut all = Vec::new();
    for (n, (document, count)) in [(a, 1), (a, 2), (b, 4)].into_iter().enumerate() {
        let one = record(&k, document, n as u128 + 1, count).await;
        assert!(intake.note_failure(one.clone()).await.unwrap());
        all.insert(0, one);
        k.advance(secs(60)).await;
    }
    let twice = FailureRecord { retry_count: 9, ..all[0].clone() };
    assert!(!intake.note_failure(twice).await.unwrap(), "written once");
    let first = intake
        .failure_records(RecordFilter::default(), PageRequest { limit: 2, cursor: None })
        .await
        .unwrap();
    assert_eq!(first.rows, all[..2]);
    let rest = PageRequest { limit: 2, cursor: first.next };
    let rest = intake.failure_records(RecordFilter::default(), rest).await.unwrap();
    assert_eq!((rest.rows.as_slice(), rest.next), (&all[2..], None));
    for (filter, expected) in [
        (RecordFilter { document: Some(a), ..RecordFilter::default() }, &all[1..]),
        (RecordFilter { owner: Some("jane".into()), ..RecordFilter::default() }, &all[..]),
        (RecordFilter { owner: Some("joe".into()), ..RecordFilter::default() }, &[]),
        (RecordFilter { code: Some(Code::NotPdf), ..RecordFilter::default() }, &all[..1]),
        (RecordFilter { since: Some(all[1].timestamp), ..RecordFilter::default() }, &all[..2]),
        (RecordFilter { until: Some(all[1].timestamp), ..RecordFilter::default() }, &all[2..]),
        (RecordFilter { notified: Some(false), ..RecordFilter::default() }, &all[..]),
        (RecordFilter { notified: Some(true), ..RecordFilter::default() }, &[]),
        (RecordFilter { text: Some("gateway TOOK".into()), ..RecordFilter::default() }, &all[..]),
        (RecordFilter { text: Some("elsewhere".into()), ..RecordFilter::default() }, &[]),
    ] {
        let found = intake.failure_records(filter.clone(), PageRequest::default()).await.unwrap();
        assert_eq!(found.rows, expected, "{filter:?}");
    }
}

fn delivery(key: &str, at: Timestamp) -> Delivery {
    Delivery {
        key: key.into(),
        owner: "jane".into(),
        address: "jane@example.org".into(),
        state: DeliveryState::Sent,
        tries: 1,
        error: None,
        documents: 1,
        at,
    }
}

/// What is new is told once; what comes while it is being told is told the next time; what is done after it was told is told too.
pub async fn an_owner_is_told_what_is_new_and_what_recovered(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let (a, fine) = (k.id(), k.id());
    intake.take_in(vec![new(a, "x.pdf"), new(fine, "y.pdf")]).await.unwrap();
    intake.change_document(fine, LeaseToken(1), DocumentChange::stage(Stage::Done)).await.unwrap();
    assert!(intake.untold_owners().await.unwrap().is_empty(), "what never failed is not told");
    intake.note_failure(record(&k, a, 1, 1).await).await.unwrap();
    assert_eq!(intake.untold_owners().await.unwrap(), ["jane"]);
    let told = intake.untold("jane", 10).await.unwrap();
    assert_eq!((told.len(), told[0].document.id, told[0].failures), (1, a, 1));
    assert_eq!((told[0].last, told[0].document.told), (Some(k.now().await), None));
    assert!(intake.untold("joe", 10).await.unwrap().is_empty());
    let upto = k.now().await;
    k.advance(secs(1)).await;
    intake.note_failure(record(&k, a, 2, 2).await).await.unwrap();
    let by = delivery("first", k.now().await);
    let tell = async |told: Told, upto: Timestamp| {
        intake.mark_told(vec![ToldNow { document: a, told, upto }], by.clone()).await.unwrap();
    };
    tell(Told::Failing, upto).await;
    assert_eq!(intake.delivery("first").await.unwrap(), Some(by.clone()), "noted with what it told");
    let again = intake.untold("jane", 10).await.unwrap();
    assert_eq!((again[0].failures, again[0].document.told), (1, Some(Told::Failing)), "it came in between");
    let now = k.now().await;
    tell(Told::Failing, now).await;
    assert!(intake.untold_owners().await.unwrap().is_empty(), "nothing changed, nothing is told");
    let notified = RecordFilter { notified: Some(true), ..RecordFilter::default() };
    assert_eq!(intake.failure_records(notified, PageRequest::default()).await.unwrap().rows.len(), 2);
    intake.change_document(a, LeaseToken(1), DocumentChange::stage(Stage::Done)).await.unwrap();
    let recovered = intake.untold("jane", 10).await.unwrap();
    assert_eq!((recovered.len(), recovered[0].failures, recovered[0].document.stage), (1, 0, Stage::Done));
    tell(Told::Recovered, now).await;
    assert!(intake.untold_owners().await.unwrap().is_empty());
}

/// A delivery is one row for all its tries.
pub async fn deliveries_are_noted_and_listed(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let waiting = Delivery {
        key: "2026-03-01/jane".into(),
        owner: "jane".into(),
        address: "jane@example.org".into(),
        state: DeliveryState::Waiting,
        tries: 1,
        error: Some("451 try later".into()),
        documents: 3,
        at: k.now().await,
    };
    intake.note_delivery(waiting.clone()).await.unwrap();
    assert_eq!(intake.delivery(&waiting.key).await.unwrap(), Some(waiting.clone()));
    k.advance(secs(9)).await;
    let sent = Delivery { state: DeliveryState::Sent, tries: 2, error: None, at: k.now().await, ..waiting };
    intake.note_delivery(sent.clone()).await.unwrap();
    k.advance(secs(9)).await;
    let other =
        Delivery { key: "2026-03-01/joe".into(), owner: "joe".into(), at: k.now().await, ..sent.clone() };
    intake.note_delivery(other.clone()).await.unwrap();
    let first = intake.deliveries(PageRequest { limit: 1, cursor: None }).await.unwrap();
    assert_eq!(first.rows, [other]);
    let rest = intake.deliveries(PageRequest { limit: 1, cursor: first.next }).await.unwrap();
    assert_eq!(rest.rows, [sent]);
    assert_eq!(intake.delivery("none").await.unwrap(), None);
}

/// A delivery that is over is forgotten when its time is over; one that still waits never is.
pub async fn old_deliveries_are_forgotten(h: &dyn Harness) {
    let (k, intake) = (Kit::new(h), h.intake());
    let at = k.now().await;
    for (key, state) in [
        ("sent", DeliveryState::Sent),
        ("written", DeliveryState::Written),
        ("failed", DeliveryState::Failed),
        ("waiting", DeliveryState::Waiting),
    ] {
        intake.note_delivery(Delivery { state, ..delivery(key, at) }).await.unwrap();
    }
    assert_eq!(intake.forget_deliveries(at, 10).await.unwrap(), 0, "too young");
    k.advance(secs(1)).await;
    let now = k.now().await;
    intake.note_delivery(delivery("young", now)).await.unwrap();
    assert_eq!(intake.forget_deliveries(now, 2).await.unwrap(), 2, "no more than asked for");
    assert_eq!(intake.forget_deliveries(now, 2).await.unwrap(), 1);
    let left = intake.deliveries(PageRequest::default()).await.unwrap().rows;
    assert_eq!(left.iter().map(|d| d.key.as_str()).collect::<Vec<_>>(), ["young", "waiting"]);
}

/// Addresses are added, switched and removed.
pub async fn notifications_are_set_and_removed(h: &dyn Harness) {
    let intake = h.intake();
    let of = |owner: &str, address: &str, enabled| Notification {
        owner: owner.into(),
        address: address.into(),
        enabled,
    };
    for one in [
        of("jane", "j@example.org", true),
        of("default", "desk@example.org", true),
        of("jane", "a@example.org", true),
    ] {
        intake.set_notification(one).await.unwrap();
    }
    intake.set_notification(of("jane", "j@example.org", false)).await.unwrap();
    let all = intake.notifications().await.unwrap();
    let expected = [
        of("default", "desk@example.org", true),
        of("jane", "a@example.org", true),
        of("jane", "j@example.org", false),
    ];
    assert_eq!(all, expected);
    assert!(intake.remove_notification("jane", "a@example.org").await.unwrap());
    assert!(!intake.remove_notification("jane", "a@example.org").await.unwrap());
    assert_eq!(intake.notifications().await.unwrap().len(), 2);
    for bad in
        [of("", "a@b", true), of("a", "", true), of("a\nb", "a@b", true), of(&"x".repeat(300), "a@b", true)]
    {
        assert!(intake.set_notification(bad).await.is_err());
    }
}
