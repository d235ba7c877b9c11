//! Operators' tokens, for those who may give them out. The token itself is told once, by the answer that makes it.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// A token that is wanted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewToken {
    /// How people call it: 1 to 40 letters, digits, dots, dashes, underscores, @ or spaces.
    pub name: String,
    /// What it may do: `read` looks, `act` also acts on jobs, dead letters, targets and workers, `admin` also changes settings, tokens and who is
    /// told.
    pub scope: String,
    /// When it stops to be good; never unless said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
}

/// What is known of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Token {
    /// Which: the beginning of its hash.
    pub id: String,
    /// How people call it.
    pub name: String,
    /// What it may do: `read`, `act`, `admin`.
    pub scope: String,
    /// `good`, `expired` or `revoked`.
    pub state: String,
    /// When it was made.
    #[schema(value_type = String, format = DateTime)]
    pub made_at: Timestamp,
    /// By whom.
    pub made_by: String,
    /// When it stops to be good.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub expires_at: Option<Timestamp>,
    /// When it was taken back.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub revoked_at: Option<Timestamp>,
    /// When it was last used, to within some minutes.
    #[schema(value_type = Option<String>, format = DateTime)]
    pub used_at: Option<Timestamp>,
}

/// A page of tokens.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TokenList {
    /// The newest first.
    pub tokens: Vec<Token>,
    /// Asks for the next page; missing on the last.
    pub next_cursor: Option<String>,
}

/// A token that was made.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MadeToken {
    /// The token itself: told this once, and kept nowhere.
    pub token: String,
    /// What is known of it.
    #[serde(flatten)]
    pub of: Token,
}

impl std::fmt::Debug for MadeToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MadeToken").field("token", &"***").field("of", &self.of).finish()
    }
}
