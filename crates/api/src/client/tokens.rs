//! Operators' tokens: listed, made, taken back.

use reqwest::Method;

use super::{Client, QUICK, Result, read};
use crate::{Because, MadeToken, NewToken, PageQuery, Token, TokenList};

impl Client {
    /// A page of tokens, the newest first.
    pub async fn tokens(&self, wanted: &PageQuery) -> Result<TokenList> {
        let request = self.request(Method::GET, &["api", "tokens"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
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
