//! Operators' tokens: found by whoever comes to the door, made and taken back by operators.

use redrive_store::{ActEnd, NewToken, SessionKey, Standing, TokenId, TokenRow};

use super::Desk;
use crate::operator::Operator;
use crate::refusal::Refusal;

impl Desk {
    // --- at the door -------------------------------------------------------------------------------------------

    pub(crate) async fn token(&self, id: TokenId) -> Result<Option<TokenRow>, Refusal> {
        Ok(self.engine.store().token(id).await?)
    }

    pub(crate) async fn touch_token(&self, id: TokenId) -> Result<(), Refusal> {
        Ok(self.engine.store().touch_token(id).await?)
    }

    pub(crate) async fn open_token_session(&self, key: SessionKey, token: TokenId) -> Result<bool, Refusal> {
        Ok(self.engine.store().open_token_session(key, token).await?)
    }

    // --- for operators -----------------------------------------------------------------------------------------

    pub(crate) async fn tokens(&self, _: Operator) -> Result<Vec<TokenRow>, Refusal> {
        Ok(self.engine.store().tokens().await?)
    }

    /// Keeps a fresh token; the trail says which, what it may do, and who wanted it.
    pub(crate) async fn add_token(&self, operator: Operator, new: NewToken) -> Result<(), Refusal> {
        let subject = format!("token {} ({}), {}", new.name.as_str(), TokenId::of(&new.hash), new.scope);
        let (words, standing) = match new.expires_at {
            Some(end) => (format!("made, good until {end}"), format!("{}, good until {end}", new.scope)),
            None => ("made".to_owned(), format!("{}, good", new.scope)),
        };
        let act = async { Ok(self.engine.store().add_token(new).await?) };
        let words = |(): &()| ActEnd::from(words).changed(None, Some(standing));
        Ok(self.engine.acted(&operator.by(None), "token.add", subject, act, words).await?)
    }

    /// Takes a token back. Answers whether there is one.
    pub(crate) async fn revoke_token(
        &self,
        operator: Operator,
        row: &TokenRow,
        reason: Option<String>,
    ) -> Result<bool, Refusal> {
        let subject = format!("token {} ({}), {}", row.name.as_str(), row.id, row.scope);
        let act = async { Ok(self.engine.store().revoke_token(row.id).await?) };
        let how = |standing: Standing| format!("{}, {}", row.scope, standing.as_str());
        let words = |_: &bool| ActEnd::from("taken back").from_to(how(row.standing), how(Standing::Revoked));
        Ok(self.engine.acted(&operator.by(reason), "token.revoke", subject, act, words).await?)
    }
}
