//! CapabilityService.

use host::caller::caller;
use kernel::limits;
use wire::ledger::v1::{self as pb, capability_service_server::CapabilityService};

use super::{Handler, Reply};

#[tonic::async_trait]
impl CapabilityService for Handler {
    async fn get_capabilities(
        &self,
        request: tonic::Request<pb::GetCapabilitiesRequest>,
    ) -> Reply<pb::GetCapabilitiesResponse> {
        let caller = caller(&request)?;
        Ok(tonic::Response::new(pb::GetCapabilitiesResponse {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            services: caller.services.iter().map(|name| (*name).to_owned()).collect(),
            providers: self.ledger.providers(),
            limits: told_limits(),
            scopes: caller.principal.scopes.iter().map(|s| s.name().to_owned()).collect(),
        }))
    }
}

fn told_limits() -> std::collections::BTreeMap<String, u64> {
    [
        ("message_bytes", limits::MESSAGE_BYTES_MAX),
        ("page_bytes", limits::PAGE_BYTES_MAX),
        ("page_size", limits::PAGE_SIZE_MAX),
        ("turn_bytes", limits::TURN_BYTES_MAX),
        ("import_bytes", limits::IMPORT_BYTES_MAX),
        ("book_entries", limits::BOOK_ENTRIES_MAX),
        ("profile_bytes", limits::PROFILE_BYTES_MAX),
        ("change_operations", limits::CHANGE_OPERATIONS_MAX),
    ]
    .map(|(name, limit)| (name.to_owned(), limit as u64))
    .into()
}
