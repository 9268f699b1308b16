//! Why a call to a model gave nothing, or stopped giving.

/// One failed call. The texts name the provider's words, never the prompt's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("no model provider named {0:?} is configured")]
    ProviderNotConfigured(String),
    #[error("the provider could not be reached: {0}")]
    Unreachable(String),
    #[error("the provider said nothing for {after_ms} ms while {doing}")]
    TimedOut { doing: &'static str, after_ms: u64 },
    #[error("the provider allows no more requests for now{}", wait(*retry_after_ms))]
    RateLimited { retry_after_ms: Option<u64> },
    /// An HTTP status of failure, or an error sent inside a stream (then with the status it stands for).
    #[error("the provider refused with status {status}: {message}")]
    Refused { status: u16, message: String },
    #[error("the provider's stream broke off before its end")]
    CutOff,
    #[error("the provider's answer could not be read: {0}")]
    Malformed(String),
    #[error("the provider's answer exceeds {0} bytes")]
    TooLarge(usize),
    #[error("the model did not call {tool} and ended with {finish}")]
    ToolNotCalled { tool: String, finish: String },
    #[error("the model's call of {tool} was cut off at the token limit")]
    ToolCutOff { tool: String },
    #[error("the arguments for {tool} are not JSON: {detail}")]
    ToolMalformed { tool: String, detail: String },
    #[error("the provider declares neither tools nor output held to a schema")]
    ToolsUnsupported,
    #[error("the script has nothing for this request: {0}")]
    Unscripted(String),
}

fn wait(retry_after_ms: Option<u64>) -> String {
    retry_after_ms.map_or_else(String::new, |ms| format!(", and asks to wait {ms} ms"))
}

// === impl Error ===

impl Error {
    /// The stable code, as it stands on records and in statuses.
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::ProviderNotConfigured(_) => "PROVIDER_NOT_CONFIGURED",
            Self::Unreachable(_) => "PROVIDER_UNREACHABLE",
            Self::TimedOut { .. } => "PROVIDER_TIMED_OUT",
            Self::RateLimited { .. } => "PROVIDER_RATE_LIMITED",
            Self::Refused { .. } => "PROVIDER_REFUSED",
            Self::CutOff => "PROVIDER_CUT_OFF",
            Self::Malformed(_) => "PROVIDER_MALFORMED",
            Self::TooLarge(_) => "PROVIDER_TOO_LARGE",
            Self::ToolNotCalled { .. } => "TOOL_NOT_CALLED",
            Self::ToolCutOff { .. } => "TOOL_CUT_OFF",
            Self::ToolMalformed { .. } => "TOOL_MALFORMED",
            Self::ToolsUnsupported => "TOOLS_UNSUPPORTED",
            Self::Unscripted(_) => "UNSCRIPTED",
        }
    }

    /// Whether the same call may well succeed a moment later.
    pub const fn may_pass(&self) -> bool {
        match self {
            Self::Unreachable(_) | Self::RateLimited { .. } | Self::CutOff => true,
            Self::Refused { status, .. } => matches!(status, 408 | 500 | 502 | 503 | 504 | 529),
            Self::TimedOut { .. }
            | Self::ProviderNotConfigured(_)
            | Self::Malformed(_)
            | Self::TooLarge(_)
            | Self::ToolNotCalled { .. }
            | Self::ToolCutOff { .. }
            | Self::ToolMalformed { .. }
            | Self::ToolsUnsupported
            | Self::Unscripted(_) => false,
        }
    }
}
