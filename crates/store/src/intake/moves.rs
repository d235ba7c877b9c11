//! A move of a document: written down before it is made, so that whoever comes after a crash can finish it.

use redrive_model::{JobId, LeaseToken, Timestamp};

/// Whether a move is still to be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MoveState {
    /// It is to be made, or is being made.
    Open,
    /// It was made.
    Done,
    /// There was nothing to move any more.
    Lost,
}

impl MoveState {
    /// Every state.
    pub const ALL: &'static [Self] = &[Self::Open, Self::Done, Self::Lost];

    /// The word in the table and in answers.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Done => "done",
            Self::Lost => "lost",
        }
    }

    /// Reads the word back.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|state| state.as_str() == word)
    }
}

/// Where a document is about to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMove {
    /// Which document.
    pub document: JobId,
    /// For which attempt: refused when a newer one has taken hold.
    pub token: LeaseToken,
    /// The key it is to have.
    pub to: String,
    /// Why: one word for logs and people.
    pub why: String,
    /// What is said beside the object, as JSON.
    pub meta: Option<String>,
}

/// What came of writing a move down.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Began {
    /// This move is open now and is to be made.
    Open(MoveRow),
    /// Another move was open already; it is to be finished first.
    Other(MoveRow),
    /// The document lies there already, and no move is open.
    There,
    /// A newer attempt has taken hold.
    Lost,
    /// There is no such document.
    NotFound,
}

/// A move.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MoveRow {
    /// Its number; later ones are larger.
    pub number: i64,
    /// Which document.
    pub document: JobId,
    /// From where.
    pub from: String,
    /// What the place said about it when the move was written down.
    pub version: String,
    /// To where.
    pub to: String,
    /// Why.
    pub why: String,
    /// What is said beside the object, as JSON.
    pub meta: Option<String>,
    /// Whether it is still to be made.
    pub state: MoveState,
    /// What was found, where that is worth a word.
    pub note: Option<String>,
    /// When it was written down.
    pub began_at: Timestamp,
    /// When it ended.
    pub ended_at: Option<Timestamp>,
}

/// How a move ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MoveEnd {
    /// The document lies at the target; the place says this about it.
    Done {
        /// Its version there.
        version: String,
        /// What was found on the way.
        note: Option<String>,
    },
    /// Neither source nor target is there: a person took it away.
    Lost {
        /// What was found.
        note: String,
    },
}
