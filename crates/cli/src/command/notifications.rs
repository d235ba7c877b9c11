//! `redrive notifications`: who gets digests, by which address.

use redrive_api::{Notification, WhichNotification};
use redrive_model::text::one_line_chars;

use super::asking::ask;
use crate::args::{Notifications, OneAddress, Shared};
use crate::exit::{Exit, Stop};
use crate::say;

pub(crate) fn run(shared: &Shared, what: &Notifications) -> Result<(), Stop> {
    ask(shared, what.flags(), async |client| match what {
        Notifications::List { json, .. } => {
            for one in client.notifications().await?.notifications {
                row(&one, *json)?;
            }
            Ok(())
        }
        Notifications::Add(one) => {
            let kept = client.set_notification(&as_said(one, true)).await?;
            row(&kept, one.json)
        }
        Notifications::Remove(one) => {
            let which = WhichNotification { owner: one.owner.clone(), address: one.address.clone() };
            client.remove_notification(&which).await?;
            if one.json { say::json(&which) } else { Ok(()) }
        }
        Notifications::Enable(one) | Notifications::Disable(one) => {
            let enabled = matches!(what, Notifications::Enable(_));
            let known = client.notifications().await?.notifications;
            if !known.iter().any(|known| known.owner == one.owner && known.address == one.address) {
                let (owner, address) = (one_line_chars(&one.owner, 60), one_line_chars(&one.address, 80));
                let text = format!("{owner} has no address {address}; redrive notifications add makes one");
                return Err(Stop::new(Exit::NotFound, text));
            }
            let kept = client.set_notification(&as_said(one, enabled)).await?;
            row(&kept, one.json)
        }
    })
}

fn as_said(one: &OneAddress, enabled: bool) -> Notification {
    Notification { owner: one.owner.clone(), address: one.address.clone(), enabled }
}

fn row(one: &Notification, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(one);
    }
    let owner = one_line_chars(&one.owner, 60);
    say::line(&format!("{owner:<24}  {:<3}  {}", if one.enabled { "on" } else { "off" }, one.address))
}
