//! Operators' tokens: listed, made, taken back.

use super::{Client, Result};
use crate::{Because, MadeToken, NewToken, Token, TokenList};

impl Client {
    /// All tokens, the newest first.
    pub async fn tokens(&self) -> Result<TokenList> {
        self.get(&["api", "tokens"]).await
    }

    /// Makes one. The answer is the only one that holds it.
    pub async fn make_token(&self, wanted: &NewToken) -> Result<MadeToken> {
        self.tell(&["api", "tokens"], wanted).await
    }

    /// Takes one back, at once and for good.
    pub async fn revoke_token(&self, id: &str, why: &Because) -> Result<Token> {
        self.tell(&["api", "tokens", id, "revoke"], why).await
    }
}
