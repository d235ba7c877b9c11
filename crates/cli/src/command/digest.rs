//! `redrive digest`: what owners would be told, telling it now, and how that went.

use redrive_api::{Delivery, DigestRequest, OwnerDigest};
use redrive_model::text::one_line_chars;

use super::asking::{ask, pages};
use crate::args::{Digest, Shared};
use crate::exit::{Exit, Stop};
use crate::say;

pub(crate) fn run(shared: &Shared, digest: &Digest) -> Result<(), Stop> {
    ask(shared, digest.flags(), async |client| match digest {
        Digest::Preview { owner, json, .. } => {
            let reply = client.digest(&DigestRequest { dry_run: true }).await?;
            let wanted = |one: &&OwnerDigest| owner.as_ref().is_none_or(|owner| *owner == one.owner);
            let owners: Vec<&OwnerDigest> = reply.owners.iter().filter(wanted).collect();
            if let (Some(owner), true) = (owner, owners.is_empty()) {
                let text = format!("there is nothing to tell {}", one_line_chars(owner, 60));
                return Err(Stop::new(Exit::NotFound, text));
            }
            for (nth, one) in owners.iter().enumerate() {
                letter(one, nth, *json)?;
            }
            count(owners.len(), "would be told", reply.mail);
            Ok(())
        }
        Digest::Send { dry_run, json, .. } => {
            let reply = client.digest(&DigestRequest { dry_run: *dry_run }).await?;
            for one in &reply.owners {
                row(one, *json)?;
            }
            count(reply.owners.len(), if *dry_run { "would be told" } else { "are being told" }, reply.mail);
            Ok(())
        }
        Digest::Deliveries { limit, json, .. } => {
            let page = async |limit, cursor: Option<String>| {
                let list = client.deliveries(limit, cursor.as_deref()).await?;
                Ok((list.deliveries, list.next_cursor))
            };
            pages(*limit, page, |one| delivery(one, *json)).await
        }
    })
}

/// How many, as a message: what is told is data.
fn count(owners: usize, told: &str, mail: bool) {
    let how = if mail { "by mail" } else { "by files under reports/digest" };
    match owners {
        0 => say::note("nothing changed since the last digest, so nothing is sent"),
        1 => say::note(&format!("1 owner, {told} {how}")),
        many => say::note(&format!("{many} owners, {told} {how}")),
    }
}

fn letter(one: &OwnerDigest, nth: usize, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(one);
    }
    if nth > 0 {
        say::line("")?;
    }
    say::line(&format!("To:      {}", goes(one)))?;
    say::line(&format!("Subject: {}", one.subject))?;
    say::line("")?;
    say::line(one.text.trim_end())
}

fn row(one: &OwnerDigest, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(one);
    }
    let owner = one_line_chars(&one.owner, 30);
    say::line(&format!("{owner:<30}  {}  {}", goes(one), one.subject))
}

/// Where a digest goes, in words.
fn goes(one: &OwnerDigest) -> String {
    let owner = one_line_chars(&one.owner, 60);
    let to = one.recipients.join(", ");
    match one.goes_to.as_str() {
        "own" => to,
        "default" => format!("{to} (default: {owner} has no address)"),
        "file" => format!("a file (for {owner})"),
        "off" => format!("nowhere: every address for {owner} is switched off"),
        _ => format!(
            "nobody: there is no address for {owner}, and none for default; redrive notifications add default ADDRESS"
        ),
    }
}

fn delivery(one: &Delivery, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(one);
    }
    let (owner, error) = (one_line_chars(&one.owner, 24), one.error.as_deref().unwrap_or_default());
    let (address, error) = (one_line_chars(&one.address, 60), one_line_chars(error, 160));
    let (state, tries, at) = (&one.state, one.tries, one.at);
    say::line(format!("{at}  {state:<7}  {tries:>3}  {owner:<24}  {address}  {error}").trim_end())
}
