//! The folder or bucket of people.

use reqwest::Method;

use super::{Client, QUICK, Result, read, with_json};
use crate::{FailureRecordList, InFlightCleared, IntakeSettings, IntakeStatus, RecordQuery};

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

    /// Gives places back that are taken for nothing.
    pub async fn clear_in_flight(&self) -> Result<InFlightCleared> {
        let request = self.request(Method::POST, &["api", "intake", "clear-in-flight"]).timeout(QUICK);
        read(self.send(request).await?).await
    }

    /// One page of failure records, newest first.
    pub async fn failure_records(&self, wanted: &RecordQuery) -> Result<FailureRecordList> {
        let request = self.request(Method::GET, &["api", "failure-records"]).query(wanted).timeout(QUICK);
        read(self.send(request).await?).await
    }
}
