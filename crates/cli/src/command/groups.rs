//! `redrive groups`: the same fault in many jobs, and where people are with it.

use redrive_api::{Because, Group, GroupQuery};
use redrive_model::text::one_line_chars;

use super::asking::{ask, each, pages};
use crate::args::{Acted, Groups, Shared};
use crate::exit::Stop;
use crate::say;

pub(crate) fn run(shared: &Shared, groups: &Groups) -> Result<(), Stop> {
    ask(shared, groups.flags(), async |client| match groups {
        Groups::List { state, workload, limit, json, .. } => {
            let page = async |rows: usize, cursor| {
                let (state, workload) = (state.clone(), workload.clone());
                let limit = Some(rows.to_string());
                let wanted = GroupQuery { state, workload, limit, cursor, ..GroupQuery::default() };
                let list = client.groups(&wanted).await?;
                Ok((list.groups, list.next_cursor))
            };
            pages(*limit, page, |group| row(group, *json)).await
        }
        Groups::Show(looked) => {
            each(&looked.ids, async |id| show(&client.group(id).await?, looked.json)).await
        }
        Groups::Ack(acted) => {
            let why = why(acted);
            each(&acted.ids, async |id| row(&client.ack_group(id, &why).await?, acted.json)).await
        }
        Groups::Resolve(acted) => {
            let why = why(acted);
            each(&acted.ids, async |id| row(&client.resolve_group(id, &why).await?, acted.json)).await
        }
    })
}

/// Why somebody acts.
pub(super) fn why(acted: &Acted) -> Because {
    Because { reason: acted.reason.clone() }
}

fn row(group: &Group, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(group);
    }
    let Group { fingerprint, open, last_seen, code, state, workload, .. } = group;
    let row = format!("{fingerprint}  {open:>5} open  {last_seen:.0}  {state:<8}");
    say::row(&row, &format!("{workload} {code}"))
}

fn show(group: &Group, json: bool) -> Result<(), Stop> {
    if json {
        return say::json(group);
    }
    say::facts(&[
        ("group", Some(group.fingerprint.clone())),
        ("state", Some(group.state.clone())),
        ("workload", Some(group.workload.clone())),
        ("failure", Some(format!("{}: {}", group.code, one_line_chars(&group.message, 400)))),
        ("target", group.target.clone()),
        ("failures", Some(group.failures.to_string())),
        ("open", Some(format!("{} dead letters", group.open))),
        ("first seen", Some(group.first_seen.to_string())),
        ("last seen", Some(group.last_seen.to_string())),
        ("newest job", Some(group.sample_job_id.clone())),
    ])
}
