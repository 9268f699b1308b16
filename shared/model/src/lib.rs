//! Chat-model providers behind one trait: the ledger generates with it, proposal judges with it.
//!
//! A caller looks a provider up in the [`Registry`], adapts its blocks to what that provider declares
//! it can do ([`adapt`]), and then streams a reply or makes one forced tool call. Dropping the future
//! or the stream cancels the call.

pub mod abilities;
pub mod adapt;
pub mod anthropic;
pub mod call;
pub mod chat;
pub mod error;
pub mod http;
pub mod openai;
pub mod registry;
pub mod scripted;
mod sse;
#[cfg(test)]
mod testing;

pub use abilities::Abilities;
pub use adapt::{ADAPTER_VERSION, Adapted, Normalization, adapt, adapt_as};
pub use call::{CallConfig, Parameter};
pub use chat::{ChatModel, Event, EventStream, FinishReason, Request, Tool, ToolCall, Usage};
pub use error::Error;
pub use registry::{ProviderConfig, ProviderKind, Registry};
pub use scripted::Scripted;
