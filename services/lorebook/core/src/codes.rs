//! Stable names with their meanings: the one form of everything that lore has to say.

/// An enum of codes. The name on the wire and in stored reports is stable; the meaning is for people.
macro_rules! codes {
    ($(#[$doc:meta])* $name:ident { $($variant:ident $text:literal $meaning:literal;)* }) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash,
            serde::Serialize, serde::Deserialize,
        )]
        pub enum $name { $(#[doc = $meaning] #[serde(rename = $text)] $variant,)* }

        impl $name {
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// The stable name.
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $text,)* }
            }

            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning,)* }
            }
        }
    };
}

pub(crate) use codes;
