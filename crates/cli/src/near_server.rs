//! Which server commands talk to: the one that `REDRIVE_URL` names, or the one that runs on this data folder.

use redrive_api::client::{Client, ClientError};
use redrive_model::Code;
use url::Url;

use crate::exit::{Exit, Stop};
use crate::local::ServerFile;
use crate::settings::{self, Values};

/// A server, and how we know of it.
#[derive(Debug, Clone)]
pub(crate) struct Known {
    pub(crate) client: Client,
    /// Somebody named it. One that was only found here may be gone.
    pub(crate) named: bool,
}

/// The server that the settings name, or that left its address here; nothing when there is none.
pub(crate) fn find(values: &Values) -> Result<Option<Known>, Stop> {
    let here = ServerFile::read(&settings::data_dir(values));
    let token = settings::operator_token(values);
    let named = settings::server_url(values)?;
    let known = match (named, here) {
        (Some(url), here) => {
            // The local token opens that server's door and no other.
            let local =
                here.filter(|here| Url::parse(&here.url).is_ok_and(|own| own == url)).map(|here| here.token);
            Some((url, token.map(|token| token.reveal().to_owned()).or(local), true))
        }
        (None, Some(here)) => {
            let url = Url::parse(&here.url);
            let url = url.map_err(|error| Stop::new(Exit::Failed, format!("server.json: {error}")))?;
            Some((url, Some(here.token), false))
        }
        (None, None) => None,
    };
    let Some((url, token, named)) = known else { return Ok(None) };
    let client = Client::new(url, token.as_deref())?;
    Ok(Some(Known { client, named }))
}

/// The server, or a stop that says how to get one.
pub(crate) fn client(values: &Values) -> Result<Client, Stop> {
    find(values)?.map(|known| known.client).ok_or_else(|| {
        let text = format!(
            "no server runs on {}: start one with `redrive serve`, or name another with --redrive-url",
            settings::data_dir(values).display()
        );
        Stop::new(Exit::Unreachable, text)
    })
}

impl From<ClientError> for Stop {
    fn from(error: ClientError) -> Self {
        let exit = match &error {
            ClientError::Unreachable(_) | ClientError::Answer(_) => Exit::Unreachable,
            ClientError::Token => Exit::Usage,
            ClientError::Refused(problem) => match problem.status {
                400 | 413 | 415 | 422 => Exit::Usage,
                401 | 403 => Exit::NotAllowed,
                404 => Exit::NotFound,
                409 | 429 | 503 => Exit::Conflict,
                _ => Exit::Failed,
            },
            _ => Exit::Failed,
        };
        Self::new(exit, words(&error))
    }
}

/// What happened, what we do, what you can do.
fn words(error: &ClientError) -> String {
    let ClientError::Refused(problem) = error else { return error.to_string() };
    let Some(entry) = Code::parse(&problem.code).map(Code::entry) else { return error.to_string() };
    let next = match problem.status {
        // The registry speaks to whoever has a browser.
        401 => "Set OPERATOR_TOKEN to the token of that server.",
        _ => entry.what_you_can_do,
    };
    let said = error.to_string();
    let done = if said.contains(entry.what_we_do) { "" } else { entry.what_we_do };
    [said.trim(), done, next].into_iter().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(" ")
}
