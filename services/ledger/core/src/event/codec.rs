//! Payload bytes: `{"v":1,"body":{…}}`; every version ever written stays readable.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::value::RawValue;

use super::{Body, Kind};

/// The version that is written.
const CURRENT: u32 = 1;

/// Why a stored event cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    #[error("the payload of the event at offset {0} was erased")]
    Erased(u64),
    #[error("the payload of the event at offset {0} does not match its commitment")]
    Damaged(u64),
    #[error("the payload of the event at offset {offset} cannot be read")]
    Payload {
        offset: u64,
        #[source]
        fault: PayloadFault,
    },
}

/// What is wrong with a payload.
#[derive(Debug, thiserror::Error)]
pub enum PayloadFault {
    #[error("version {0} is not known to this build")]
    Version(u32),
    #[error("it is not the expected JSON")]
    Json(#[from] serde_json::Error),
}

#[derive(Serialize)]
struct Written<'a, T> {
    v: u32,
    body: &'a T,
}

#[derive(Deserialize)]
struct Read<'a> {
    v: u32,
    #[serde(borrow)]
    body: &'a RawValue,
}

macro_rules! codec {
    ($($kind:ident),* $(,)?) => {
        /// The body in the newest version.
        pub(crate) fn encode(body: &Body) -> Vec<u8> {
            match body {
                $(Body::$kind(body) => write(body),)*
            }
        }

        pub(crate) fn decode(kind: Kind, payload: &[u8]) -> Result<Body, PayloadFault> {
            match kind {
                $(Kind::$kind => read(payload).map(Body::$kind),)*
            }
        }

        impl Body {
            pub fn kind(&self) -> Kind {
                match self {
                    $(Self::$kind(_) => Kind::$kind,)*
                }
            }
        }
    };
}

codec! {
    SessionCreated, SessionUpdated, TurnReceived, TurnSeeded, TurnImported, GenerationStarted,
    ContextAdded, ContextRewritten, LlmRequestRequested, TurnCompleted, TurnFailed, TurnAborted,
    AlternativeSelected, TurnEdited, TurnRetracted, ToolRequested, ToolSettled,
    WorldChangeProposed, AffectAppraised, MemoryWritten, SessionDeleted,
}

/// Bodies are made of strings, numbers and lists, which always encode; a map key or a float that
/// could fail does not occur in them.
#[expect(clippy::expect_used, reason = "a body without failing parts cannot fail to encode")]
fn write<T: Serialize>(body: &T) -> Vec<u8> {
    serde_json::to_vec(&Written { v: CURRENT, body }).expect("a body encodes")
}

fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, PayloadFault> {
    let read: Read<'_> = serde_json::from_slice(payload)?;
    match read.v {
        1 => Ok(serde_json::from_str(read.body.get())?),
        other => Err(PayloadFault::Version(other)),
    }
}
