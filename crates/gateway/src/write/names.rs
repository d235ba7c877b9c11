//! Our words for roles and directions, the same in every mapping that says them.

use crate::page::{Direction, Role};

/// What a block is.
pub(super) fn role(role: Role) -> &'static str {
    match role {
        Role::Paragraph => "paragraph",
        Role::Heading(_) => "heading",
        Role::ListItem => "list-item",
        Role::Cell { .. } => "cell",
        Role::Caption => "caption",
        Role::Note => "note",
        Role::Artifact => "artifact",
        Role::Figure => "figure",
    }
}

/// How a line runs.
pub(super) fn direction(direction: Direction) -> &'static str {
    match direction {
        Direction::LeftToRight => "ltr",
        Direction::RightToLeft => "rtl",
        Direction::Vertical => "ttb",
        Direction::Rotated(_) => "rotated",
    }
}
