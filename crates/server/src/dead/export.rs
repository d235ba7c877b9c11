//! Every dead letter that matches, oldest first, in one stream. One page is in memory at a time, whatever there is.
//!
//! What dies meanwhile is not meant: the newest one that matches is noted first, wherever it is. A store that goes away in the middle cuts the connection, so that
//! half of it never looks like all of it.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::{BufMut, Bytes, BytesMut};
use futures::stream;
use redrive_api::{NDJSON, PROTOBUF};
use redrive_fetch::wire::Message;
use redrive_model::Code;
use redrive_model::limits::MAX_PAGE;
use redrive_store::{DeadFilter, PageRequest};

use super::{Form, typed, view};
use crate::app::App;
use crate::operator::Operator;
use crate::refusal::Refusal;

/// The end of a stream that broke: it is logged where it happened, and the client sees the connection close.
#[derive(Debug, thiserror::Error)]
#[error("the export was cut: {0}")]
struct Cut(String);

pub(super) async fn stream(
    app: &App,
    operator: Operator,
    filter: DeadFilter,
    form: Form,
) -> Result<Response, Refusal> {
    // A failure before the first byte is an answer like any other.
    let upto = app.desk().matching_dead(operator, filter.clone()).await?.newest;
    let filter = DeadFilter { upto, oldest_first: true, ..filter };
    let first = upto.map(|_| None::<String>);
    let (app, name) = (app.clone(), if form == Form::Protobuf { PROTOBUF } else { NDJSON });
    let pages = stream::unfold(first, move |cursor| {
        let (app, filter) = (app.clone(), filter.clone());
        async move {
            let page = PageRequest { limit: MAX_PAGE, cursor: cursor? };
            Some(match written(&app, operator, filter, page, form).await {
                Ok((bytes, next)) => (Ok(bytes), next.map(Some)),
                Err(refusal) => (Err(Cut(refusal.code().to_owned())), None),
            })
        }
    });
    Ok(typed(name, Body::from_stream(pages).into_response()))
}

/// One page, written, and where the next one starts.
async fn written(
    app: &App,
    operator: Operator,
    filter: DeadFilter,
    page: PageRequest,
    form: Form,
) -> Result<(Bytes, Option<String>), Refusal> {
    let page = app.desk().dead_letters(operator, filter, page).await?;
    let letters = app.desk().letters(operator, &page.rows).await?;
    let mut bytes = BytesMut::new();
    for (row, sent) in page.rows.iter().zip(letters) {
        if form == Form::Protobuf {
            bytes.put_slice(&sent.encode_length_delimited_to_vec());
        } else {
            let line = serde_json::to_vec(&view::letter(row, sent))
                .map_err(|error| Refusal::new(Code::SystemInternal, error.to_string()))?;
            bytes.put_slice(&line);
            bytes.put_u8(b'\n');
        }
    }
    Ok((bytes.freeze(), page.next))
}
