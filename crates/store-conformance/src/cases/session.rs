//! Anonymous sessions, and the counts of what one owner has.

use redrive_model::{Code, Shown};
use redrive_store::{JobFilter, NewJob, PageRequest, SessionKey, SessionLife, ShownCount, When};

use crate::Harness;
use crate::kit::{Kit, owner, secs};

const LIFE: SessionLife = SessionLife { idle: secs(100), absolute: secs(250) };

fn key(n: u8) -> SessionKey {
    SessionKey::from_bytes([n; 32])
}

/// A session is there from its beginning to its end; one that nobody began never is.
pub async fn a_session_begins_and_ends(h: &dyn Harness) {
    let k = Kit::new(h);
    assert_eq!(k.store.session(key(1), LIFE).await.unwrap(), None);
    assert!(!k.store.touch_session(key(1)).await.unwrap());
    k.store.open_session(key(1)).await.unwrap();
    let row = k.store.session(key(1), LIFE).await.unwrap().unwrap();
    assert_eq!((row.created_at, row.seen_at, row.unseen), (k.now().await, k.now().await, secs(0)));
    assert_eq!(k.store.session(key(2), LIFE).await.unwrap(), None, "another one's key");
    assert!(k.store.end_session(key(1)).await.unwrap());
    assert!(!k.store.end_session(key(1)).await.unwrap());
    assert_eq!(k.store.session(key(1), LIFE).await.unwrap(), None);
}

/// Without being seen a session ends; being seen keeps it, but not beyond its whole life. Beginning it again changes nothing.
pub async fn a_session_has_two_lives_and_both_end(h: &dyn Harness) {
    let k = Kit::new(h);
    k.store.open_session(key(1)).await.unwrap();
    k.store.open_session(key(2)).await.unwrap();
    let begun = k.now().await;
    for _ in 0..2 {
        k.advance(secs(90)).await;
        assert_eq!(k.store.session(key(1), LIFE).await.unwrap().map(|row| row.unseen), Some(secs(90)));
        assert!(k.store.touch_session(key(1)).await.unwrap());
    }
    assert_eq!(k.store.session(key(2), LIFE).await.unwrap(), None, "nobody saw it");
    k.store.open_session(key(1)).await.unwrap();
    let row = k.store.session(key(1), LIFE).await.unwrap().unwrap();
    assert_eq!((row.created_at, row.unseen), (begun, secs(0)), "begun once");
    k.advance(secs(70)).await;
    assert_eq!(k.store.session(key(1), LIFE).await.unwrap(), None, "its whole life is over");
    let longer = SessionLife { absolute: secs(251), ..LIFE };
    assert!(k.store.session(key(1), longer).await.unwrap().is_some(), "the limits are the caller's");
}

/// What is over is removed, so many at a time; what lives stays.
pub async fn sessions_that_are_over_are_forgotten(h: &dyn Harness) {
    let k = Kit::new(h);
    for n in 0..5 {
        k.store.open_session(key(n)).await.unwrap();
    }
    assert_eq!(k.store.forget_sessions(LIFE, 100).await.unwrap(), 0);
    k.advance(secs(60)).await;
    assert!(k.store.touch_session(key(0)).await.unwrap());
    k.advance(secs(60)).await;
    assert_eq!(k.store.forget_sessions(LIFE, 3).await.unwrap(), 3);
    assert_eq!(k.store.forget_sessions(LIFE, 3).await.unwrap(), 1);
    assert!(k.store.session(key(0), LIFE).await.unwrap().is_some());
    let endless = SessionLife { idle: std::time::Duration::MAX, absolute: std::time::Duration::MAX };
    assert!(k.store.session(key(0), endless).await.unwrap().is_some());
    assert_eq!(k.store.session(key(1), endless).await.unwrap(), None);
}

/// An owner's jobs are counted by what people see, and nobody else's with them.
pub async fn an_owners_jobs_are_counted_as_they_are_shown(h: &dyn Harness) {
    let k = Kit::new(h);
    let of = |name: &str| NewJob { owner: Some(owner(name)), ..k.job() };
    // Failed, waiting for a retry, complete: then some that nobody has tried.
    for _ in 0..3 {
        k.put_one(of("ann")).await;
    }
    let claimed = k.claim(3).await;
    k.fail(&claimed[0], Code::HandlerFailed).await;
    k.fail(&claimed[1], Code::Unknown).await;
    k.complete(&claimed[2]).await;
    k.put_one(NewJob { when: When::In(secs(60)), ..of("ann") }).await;
    let last = k.put_one(of("ann")).await;
    k.put_one(of("bob")).await;
    k.put_one(k.job()).await;
    k.store.cancel(vec![last], None).await.unwrap();
    for name in ["ann", "bob", "nobody"] {
        let filter = JobFilter { owner: Some(owner(name)), ..JobFilter::default() };
        let rows = k.store.jobs(filter, PageRequest::default()).await.unwrap().rows;
        let mut expected = Vec::new();
        for &shown in Shown::ALL {
            let jobs = rows.iter().filter(|row| row.shown == shown).count() as u64;
            if jobs > 0 {
                expected.push(ShownCount { shown, jobs });
            }
        }
        let mut counted = k.store.owner_counts(&owner(name)).await.unwrap();
        counted.sort_by_key(|count| count.shown);
        expected.sort_by_key(|count| count.shown);
        assert_eq!(counted, expected, "{name}");
    }
    assert_eq!(k.store.owner_counts(&owner("ann")).await.unwrap().len(), 5);
}
