//! What commands share that ask a server: a runtime that can be interrupted, several things one after the other, pages.

use redrive_api::PageQuery;
use redrive_api::client::Client;

use crate::args::Shared;
use crate::exit::{Exit, Stop};
use crate::logs::Usual;
use crate::settings::Flags;
use crate::settings::table::CLIENT;
use crate::{near_server, say, settings};

/// The most that the server gives on one page.
const PAGE: usize = 200;

/// So many pages are looked at for one row that is not even shown.
const LOOKS: u32 = 5;

/// Asks the server that the settings name, until it is told to stop.
pub(super) fn ask(
    shared: &Shared,
    flags: &Flags<CLIENT>,
    question: impl AsyncFnOnce(&Client) -> Result<(), Stop>,
) -> Result<(), Stop> {
    ask_again(shared, flags, async |find| question(&find()?).await)
}

/// Finds the server that the settings name, or that runs here now.
pub(super) type Find<'a> = &'a dyn Fn() -> Result<Client, Stop>;

/// The same for a question that goes on when the server is started again.
pub(super) fn ask_again(
    shared: &Shared,
    flags: &Flags<CLIENT>,
    question: impl AsyncFnOnce(Find<'_>) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let values = settings::read(shared, flags, Usual::Warn)?;
    let find = || near_server::client(&values);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        tokio::select! {
            done = question(&find) => done,
            () = crate::signals::told_to_stop() => Err(Stop::new(Exit::Interrupted, "interrupted")),
        }
    })
}

/// Goes through all, whatever becomes of one of them. What could not be done is told, and the worst of it is how the command ends.
pub(super) async fn each(ids: &[String], act: impl AsyncFn(&str) -> Result<(), Stop>) -> Result<(), Stop> {
    let mut worst: Option<Stop> = None;
    for id in ids {
        let Err(stop) = act(id).await else { continue };
        let stop = stop.about(id);
        let (kept, told) = match worst {
            Some(before) if before.exit().badness() >= stop.exit().badness() => (before, Some(stop)),
            before => (stop, before),
        };
        worst = Some(kept);
        let _ = told.map(Stop::report);
    }
    worst.map_or(Ok(()), Err)
}

/// The words that ask for a page.
pub(super) fn part(rows: usize, cursor: Option<String>) -> PageQuery {
    PageQuery { limit: Some(rows.to_string()), cursor }
}

/// Goes through pages until so many rows were told or there are no more; a list that is cut says so. A page may be empty and not the last.
pub(super) async fn pages<T>(
    limit: usize,
    page: impl AsyncFn(usize, Option<String>) -> Result<(Vec<T>, Option<String>), Stop>,
    row: impl Fn(&T) -> Result<(), Stop>,
) -> Result<(), Stop> {
    let (mut left, mut cursor, mut looks) = (limit, None, 0);
    loop {
        // One more than is wanted says whether there are more. Some rows are left out of a page after it was cut.
        let wanted = if left == 0 { PAGE } else { left.saturating_add(1).min(PAGE) };
        let (rows, next) = page(wanted, cursor.clone()).await?;
        for one in rows.iter().take(left) {
            row(one)?;
        }
        if rows.len() > left {
            say::note(&format!("{limit} shown, and there are more: a larger --limit shows them"));
            return Ok(());
        }
        looks += u32::from(left == 0);
        left -= rows.len();
        if next.is_none() || next == cursor {
            return Ok(());
        }
        if looks == LOOKS {
            say::note(&format!("{limit} shown, and there may be more: a larger --limit shows them"));
            return Ok(());
        }
        cursor = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of a server that gives so many on a page, and the cursors that were asked for.
    fn told(limit: usize, there: usize, most: usize) -> (Vec<usize>, Vec<usize>) {
        let (shown, asked) = (std::cell::RefCell::default(), std::cell::RefCell::default());
        let page = async |rows: usize, cursor: Option<String>| {
            let from = cursor.map_or(0, |cursor| cursor.parse().unwrap());
            let upto = there.min(from + rows.min(most));
            Vec::push(&mut asked.borrow_mut(), rows);
            // A full page has a next one, also when it is empty.
            let next = (upto - from == rows.min(most)).then(|| upto.to_string());
            Ok(((from..upto).collect(), next))
        };
        let row = |one: &usize| {
            Vec::push(&mut shown.borrow_mut(), *one);
            Ok(())
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(pages(limit, page, row)).unwrap();
        (shown.into_inner(), asked.into_inner())
    }

    #[test]
    fn as_many_rows_are_told_as_are_wanted_whatever_a_page_holds() {
        for (limit, there, most) in [(5, 3, 200), (5, 5, 200), (5, 6, 200), (450, 1000, 200), (7, 20, 3)] {
            let (shown, asked) = told(limit, there, most);
            assert_eq!(shown, (0..limit.min(there)).collect::<Vec<_>>(), "{limit} of {there}");
            assert!(asked.iter().all(|rows| *rows <= PAGE), "{asked:?}");
        }
        assert_eq!(told(5, 6, 200).1, [6], "one question says both");
        assert_eq!(told(usize::MAX, 450, 200).0.len(), 450);
    }
}
