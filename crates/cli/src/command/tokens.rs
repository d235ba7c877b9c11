//! `redrive tokens`: who comes in as an operator, and what they may do.

use redrive_api::{Because, NewToken, Token};
use redrive_model::text::one_line_chars;

use super::asking::{ask, each, pages, part};
use crate::args::{Shared, Tokens};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, what: &Tokens) -> Result<(), Stop> {
    ask(shared, what.flags(), async |client| match what {
        Tokens::List { json, .. } => {
            let page = async |rows, cursor| {
                let list = client.tokens(&part(rows, cursor)).await?;
                Ok((list.tokens, list.next_cursor))
            };
            pages(usize::MAX, page, |one| row(one, *json)).await
        }
        Tokens::Add { name, scope, expires, json, .. } => {
            let scope = scope.word().to_owned();
            let wanted = NewToken { name: name.clone(), scope, expires_at: *expires };
            let made = client.make_token(&wanted).await?;
            if *json {
                return say::json(&made);
            }
            say::note(&format!("token {} is made; it is shown this once: keep it safe", made.of.id));
            say::line(&made.token)
        }
        Tokens::Revoke { ids, reason, json, .. } => {
            let why = Because { reason: reason.clone() };
            each(ids, async |id| {
                let token = client.revoke_token(id, &why).await?;
                row(&token, *json)
            })
            .await
        }
    })
}

fn row(token: &Token, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(token);
    }
    let end = match (&token.revoked_at, &token.expires_at) {
        (Some(at), _) => format!("taken back {at}"),
        (None, Some(end)) => format!("until {end}"),
        (None, None) => "without end".to_owned(),
    };
    let used = token.used_at.map_or_else(|| "never used".to_owned(), |at| format!("last used {at}"));
    let name = one_line_chars(&token.name, 20);
    say::row(
        &format!("{}  {:<5}  {:<7}  {name:<20}", token.id, token.scope, token.state),
        &format!("{end}, {used}"),
    )
}
