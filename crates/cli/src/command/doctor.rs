//! `redrive doctor`: looks at everything, says what is wrong and what to do.

use redrive_api::FindingLevel;

use crate::args::{Doctor, Shared};
use crate::doctor::examine;
use crate::exit::{Exit, Stop};
use crate::logs::{self, Usual};
use crate::{say, settings};

pub(crate) fn run(shared: &Shared, flags: &Doctor) -> Result<(), Stop> {
    let values = settings::gather(shared, &flags.flags);
    logs::start(&values, Usual::Warn);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    let found = runtime.block_on(examine(&values));
    for finding in &found {
        match flags.json {
            true => say::json(finding)?,
            false => say::line(&finding.to_string())?,
        }
    }
    match found.iter().filter(|finding| finding.level == FindingLevel::Bad).count() {
        0 => Ok(()),
        bad => Err(Stop::new(Exit::Failed, format!("{bad} of {} checks found something wrong", found.len()))),
    }
}
