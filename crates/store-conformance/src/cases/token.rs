//! Operators' tokens: kept as hashes, good until they expire or are taken back, and sessions that end with them.

use redrive_store::{NewToken, Scope, SessionKey, SessionLife, Standing, TokenId};

use crate::Harness;
use crate::kit::{Kit, secs};

const LIFE: SessionLife = SessionLife { idle: secs(1_000), absolute: secs(1_000) };

fn token(n: u8, scope: Scope) -> NewToken {
    let name = format!("token {n}").parse().unwrap();
    NewToken { name, scope, hash: [n; 32], expires_at: None, by: "ann".into() }
}

fn id(n: u8) -> TokenId {
    TokenId::of(&[n; 32])
}

/// A token is there as it was made, and one that is made twice is made once.
pub async fn a_token_is_kept_as_it_was_made(h: &dyn Harness) {
    let k = Kit::new(h);
    assert_eq!(k.store.token(id(1)).await.unwrap(), None);
    k.store.add_token(token(1, Scope::Act)).await.unwrap();
    let first = k.now().await;
    k.advance(secs(5)).await;
    k.store.add_token(NewToken { by: "bob".into(), ..token(1, Scope::Admin) }).await.unwrap();
    let row = k.store.token(id(1)).await.unwrap().unwrap();
    assert_eq!((row.id, row.name.as_str(), row.scope), (id(1), "token 1", Scope::Act));
    assert_eq!((row.hash, row.made_at, row.made_by.as_str()), ([1; 32], first, "ann"));
    assert_eq!((row.expires_at, row.revoked_at, row.used_at, row.unused), (None, None, None, None));
    assert_eq!(row.standing, Standing::Good);
    for (n, scope) in [(2, Scope::Read), (3, Scope::Admin)] {
        k.advance(secs(1)).await;
        k.store.add_token(token(n, scope)).await.unwrap();
    }
    let all: Vec<_> = k.store.tokens().await.unwrap().iter().map(|row| (row.id, row.scope)).collect();
    assert_eq!(all, [(id(3), Scope::Admin), (id(2), Scope::Read), (id(1), Scope::Act)], "newest first");
}

/// A token is good up to its last instant, by the store's clock, and not a moment longer.
pub async fn a_token_expires_by_the_stores_clock(h: &dyn Harness) {
    let k = Kit::new(h);
    let end = k.now().await.checked_add(secs(60)).unwrap();
    k.store.add_token(NewToken { expires_at: Some(end), ..token(1, Scope::Read) }).await.unwrap();
    k.advance(secs(59)).await;
    assert_eq!(k.store.token(id(1)).await.unwrap().unwrap().standing, Standing::Good);
    assert!(k.store.open_token_session(SessionKey::from_bytes([1; 32]), id(1)).await.unwrap());
    k.advance(secs(1)).await;
    let row = k.store.token(id(1)).await.unwrap().unwrap();
    assert_eq!((row.standing, row.expires_at), (Standing::Expired, Some(end)));
    assert!(!k.store.open_token_session(SessionKey::from_bytes([2; 32]), id(1)).await.unwrap());
    assert_eq!(k.store.session(SessionKey::from_bytes([2; 32]), LIFE).await.unwrap(), None);
}

/// A token that is taken back stays so, its sessions end with it, and nobody else's do.
pub async fn a_revoked_token_takes_its_sessions_with_it(h: &dyn Harness) {
    let k = Kit::new(h);
    let key = |n| SessionKey::from_bytes([n; 32]);
    assert!(!k.store.revoke_token(id(1)).await.unwrap(), "there is none");
    assert!(!k.store.open_token_session(key(1), id(1)).await.unwrap(), "there is none");
    for n in [1, 2] {
        k.store.add_token(token(n, Scope::Admin)).await.unwrap();
        assert!(k.store.open_token_session(key(n), id(n)).await.unwrap());
    }
    k.store.open_session(key(3)).await.unwrap();
    let of = async |n| k.store.session(key(n), LIFE).await.unwrap().map(|row| row.token);
    assert_eq!((of(1).await, of(2).await, of(3).await), (Some(Some(id(1))), Some(Some(id(2))), Some(None)));
    assert!(k.store.revoke_token(id(1)).await.unwrap());
    let when = k.now().await;
    assert_eq!((of(1).await, of(2).await, of(3).await), (None, Some(Some(id(2))), Some(None)));
    assert!(!k.store.open_token_session(key(4), id(1)).await.unwrap(), "it opens nothing more");
    k.advance(secs(10)).await;
    assert!(k.store.revoke_token(id(1)).await.unwrap(), "again");
    k.store.add_token(token(1, Scope::Admin)).await.unwrap();
    let row = k.store.token(id(1)).await.unwrap().unwrap();
    assert_eq!((row.standing, row.revoked_at), (Standing::Revoked, Some(when)), "for good, and when it was");
    assert_eq!(k.store.token(id(2)).await.unwrap().unwrap().standing, Standing::Good);
}

/// When a token was last used is noted, and never set back.
pub async fn a_tokens_last_use_is_noted(h: &dyn Harness) {
    let k = Kit::new(h);
    k.store.touch_token(id(1)).await.unwrap();
    k.store.add_token(token(1, Scope::Read)).await.unwrap();
    k.advance(secs(30)).await;
    k.store.touch_token(id(1)).await.unwrap();
    let used = k.now().await;
    k.advance(secs(12)).await;
    let row = k.store.token(id(1)).await.unwrap().unwrap();
    assert_eq!((row.used_at, row.unused), (Some(used), Some(secs(12))));
}
