//! Operators: who may see every job and act on it.
//!
//! Four things open this door: the lasting token (`OPERATOR_TOKEN`, or one that was made at the first start and is kept as a
//! hash), the local token of this start (for the command line on the same machine), the tokens of a list that operators keep (each with a
//! scope, perhaps an end, and taken back one by one), and a browser that has signed in. A sign-in needs one of these tokens or a
//! one-time code that `serve` prints, so that no link holds a secret that lasts. What a browser holds afterwards is bound to the lasting
//! token and to the one that it signed in with: whoever changes the one signs everybody out, whoever takes the other back those who used it.

pub(crate) mod sign_in;
mod token;
mod wanted;
mod who;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::http::{HeaderMap, header};
use redrive_engine::Engine;
use redrive_store::{SessionKey, StoreError};
use sha2::{Digest, Sha256};
use tokio::time::Instant;

pub(crate) use sign_in::{enter, leave, page};
pub(crate) use token::{Fresh, Hash, Sent, fresh_token};
pub(crate) use wanted::Wanted;
pub(crate) use who::{Operator, bearer, needed, signed_in_with, too_small};

use crate::session::Secret;

/// Where the hash of the token that we made is kept.
const KEPT: &str = "operator/token";
/// A token that people chose must be at least this long.
pub const MIN_TOKEN: usize = 16;
/// A one-time code is good for this long.
pub const CODE_LIFE: Duration = Duration::from_secs(15 * 60);
/// Codes that wait at once; the oldest goes.
const MOST_CODES: usize = 16;

/// Why there are no operators.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum OperatorsError {
    /// The token that was chosen is too easy to guess.
    #[error(
        "OPERATOR_TOKEN has fewer than {MIN_TOKEN} characters, or some that no header can carry: choose a longer one, or leave it out and one is made"
    )]
    Weak,
    /// The store did not answer.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The operating system gave no random bytes.
    #[error("no random bytes: {0}")]
    Randomness(String),
}

/// The keys to the operators' door. Clones are the same.
#[derive(Debug, Clone)]
pub struct Operators(Arc<Keys>);

#[derive(Debug)]
struct Keys {
    lasting: Hash,
    local: Mutex<Option<Hash>>,
    codes: Mutex<Vec<(Hash, Instant)>>,
}

impl Keys {
    fn new(lasting: Hash) -> Self {
        Self { lasting, local: Mutex::default(), codes: Mutex::default() }
    }
}

impl Operators {
    /// The lasting token is the one that was given, or the one whose hash is kept, or a fresh one. A fresh one is the second
    /// answer: nobody can ever tell it again.
    pub async fn open(
        engine: &Engine,
        given: Option<&str>,
    ) -> Result<(Self, Option<String>), OperatorsError> {
        let (lasting, made) = match given {
            Some(token) if is_strong(token) => (Hash::of(token), None),
            Some(_) => return Err(OperatorsError::Weak),
            None => match kept(engine).await? {
                Some(hash) => (hash, None),
                None => {
                    let Fresh { token, hash } = fresh_token().map_err(no_randomness)?;
                    // Another server may start at the same time: one token holds, and only who made it knows it.
                    let held = engine.store().first_setting(KEPT, &hash.to_kept(), "serve").await?;
                    match Hash::from_kept(&held) {
                        Some(other) if !other.is(&hash) => (other, None),
                        Some(_) => (hash, Some(token)),
                        // What was kept is no hash: nobody can have a token for it.
                        None => {
                            engine.store().set_setting(KEPT, Some(&hash.to_kept()), "serve").await?;
                            (hash, Some(token))
                        }
                    }
                }
            },
        };
        Ok((Self(Arc::new(Keys::new(lasting))), made))
    }

    /// Whether operators have a token that lasts: one that was given, or one of an earlier start.
    pub async fn have_token(engine: &Engine, given: Option<&str>) -> Result<bool, OperatorsError> {
        Ok(given.is_some() || kept(engine).await?.is_some())
    }

    /// A fresh token that is good as long as this process runs.
    pub fn local_token(&self) -> Result<String, OperatorsError> {
        let Fresh { token, hash } = fresh_token().map_err(no_randomness)?;
        *self.0.local.lock().unwrap_or_else(PoisonError::into_inner) = Some(hash);
        Ok(token)
    }

    /// A fresh code that signs one browser in, once, within [`CODE_LIFE`].
    pub fn one_time_code(&self) -> Result<String, OperatorsError> {
        let code = token::fresh_code().map_err(no_randomness)?;
        let mut codes = self.0.codes.lock().unwrap_or_else(PoisonError::into_inner);
        if codes.len() >= MOST_CODES {
            codes.remove(0);
        }
        codes.push((Hash::of(&code), Instant::now() + CODE_LIFE));
        Ok(code)
    }

    /// Whose token this is, of those that are no list's.
    pub(crate) fn bearer(&self, sent: &Hash) -> Option<Operator> {
        // Both are compared always.
        let lasting = self.0.lasting.is(sent);
        let local = self.0.local.lock().unwrap_or_else(PoisonError::into_inner);
        let local = local.as_ref().is_some_and(|hash| hash.is(sent));
        match (lasting, local) {
            (true, _) => Some(Operator::LASTING),
            (false, true) => Some(Operator::LOCAL),
            (false, false) => None,
        }
    }

    /// Whether this code is good; from now on it is not.
    pub(crate) fn spend(&self, sent: &Hash) -> bool {
        let mut codes = self.0.codes.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        codes.retain(|(_, until)| *until > now);
        let before = codes.len();
        codes.retain(|(hash, _)| !hash.is(sent));
        codes.len() < before
    }

    /// What the store keeps of a browser that has signed in. Nobody without its secret and the lasting token can make it, and no
    /// ordinary session has it.
    pub(crate) fn session_key(&self, secret: &Secret) -> SessionKey {
        let mut hash = Sha256::new();
        hash.update(b"redrive operator session");
        hash.update(self.0.lasting.as_bytes());
        hash.update(secret.key().as_bytes());
        SessionKey::from_bytes(hash.finalize().into())
    }
}

async fn kept(engine: &Engine) -> Result<Option<Hash>, StoreError> {
    let rows = engine.store().settings(KEPT).await?;
    Ok(rows.iter().find(|row| row.key == KEPT).and_then(|row| Hash::from_kept(&row.value)))
}

fn is_strong(token: &str) -> bool {
    token.len() >= MIN_TOKEN && token.bytes().all(|byte| byte.is_ascii_graphic())
}

fn no_randomness(error: rand::rand_core::OsError) -> OperatorsError {
    OperatorsError::Randomness(error.to_string())
}

/// What a request sends as its token, as a hash. Other schemes are not for us.
pub(crate) fn sent_token(headers: &HeaderMap) -> Option<Sent> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| Sent::of(token.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys() -> Operators {
        Operators(Arc::new(Keys::new(Hash::of("lasting"))))
    }

    #[tokio::test(start_paused = true)]
    async fn a_code_is_good_once_and_not_for_long() {
        let operators = keys();
        let [first, second] = [operators.one_time_code().unwrap(), operators.one_time_code().unwrap()];
        assert!(!operators.spend(&Hash::of("another")));
        assert!(operators.spend(&Hash::of(&first)));
        assert!(!operators.spend(&Hash::of(&first)), "a second time");
        tokio::time::advance(CODE_LIFE).await;
        assert!(!operators.spend(&Hash::of(&second)), "too late");
        for _ in 0..100 {
            operators.one_time_code().unwrap();
        }
        assert!(operators.0.codes.lock().unwrap().len() <= MOST_CODES);
    }

    #[test]
    fn the_local_token_lasts_until_the_next_and_sessions_depend_on_the_lasting_one() {
        let operators = keys();
        assert_eq!(operators.bearer(&Hash::of("lasting")).unwrap().name(), "operator (token)");
        let [old, new] = [operators.local_token().unwrap(), operators.local_token().unwrap()];
        assert!(operators.bearer(&Hash::of(&old)).is_none());
        assert_eq!(operators.bearer(&Hash::of(&new)).unwrap().name(), "operator (local)");
        let secret = Secret::fresh().unwrap();
        let other = Operators(Arc::new(Keys::new(Hash::of("x"))));
        assert_ne!(operators.session_key(&secret), other.session_key(&secret));
        assert_ne!(operators.session_key(&secret), secret.key());
    }

    #[test]
    fn only_a_bearer_token_is_for_us_and_a_short_one_is_refused() {
        let headers = |value: &str| HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        for (value, sent) in
            [("Bearer abc", true), ("bearer  abc ", true), ("Basic abc", false), ("abc", false)]
        {
            let token = sent_token(&headers(value));
            assert_eq!(token.is_some_and(|token| token.hash().is(&Hash::of("abc"))), sent, "{value}");
        }
        for (token, strong) in [("0123456789abcdef", true), ("short", false), ("0123456789 abcdef", false)] {
            assert_eq!(is_strong(token), strong, "{token}");
        }
    }
}
