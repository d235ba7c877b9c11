//! The folder or bucket of people.

use reqwest::Method;

use super::{Client, QUICK, Result, read, with_json};
use crate::{
    ClearInFlight, DocumentHistory, DocumentList, DocumentQuery, FailureRecordList, InFlightCleared,
    IntakeSettings, IntakeStatus, RecordQuery, ReportAsked,
};

impl Client {
    /// How intake is.
    pub async fn intake(&self) -> Result<IntakeStatus> {
        self.get(&["api", "intake"]).await
    }

    /// Changes what can be changed while everything runs; answers how intake is then.
    pub async fn set_intake(&self, settings: &IntakeSettings) -> Result<IntakeStatus> {
        let request = self.request(Method::PUT, &["api", "intake", "settings"]).timeout(QUICK);
        read(self.send(with_json(request, settings)?).await?).await
    }

    /// Gives places back that are taken for nothing, or only counts them.
    pub async fn clear_in_flight(&self, how: &ClearInFlight) -> Result<InFlightCleared> {
        self.tell(&["api", "intake", "clear-in-flight"], how).await
    }

    /// One page of documents, newest first.
    pub async fn documents(&self, wanted: &DocumentQuery) -> Result<DocumentList> {
        let request = self.request(Method::GET, &["api", "intake", "documents"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// One document with all that happened to it.
    pub async fn document(&self, id: &str) -> Result<DocumentHistory> {
        self.get(&["api", "intake", "documents", id]).await
    }

    /// Asks for a report about a document; answers the job that writes it.
    pub async fn ask_report(&self, id: &str) -> Result<ReportAsked> {
        let path = ["api", "intake", "documents", id, "report"];
        read(self.send(self.request(Method::POST, &path).timeout(QUICK)).await?).await
    }

    /// One page of failure records, newest first.
    pub async fn failure_records(&self, wanted: &RecordQuery) -> Result<FailureRecordList> {
        let request = self.request(Method::GET, &["api", "failure-records"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }
}
