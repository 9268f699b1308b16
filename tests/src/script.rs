//! Scripts for the model, where the sample's does not fit.

/// Replies with what it was told; nothing to propose.
pub const ECHO: &str = r#"
chunk_chars = 12

[[reply]]
text = "I hear you: {message}"

[[tool]]
name = "propose_world_changes"
arguments = '{ "operations": [], "summary": "Nothing durable happened." }'
"#;

/// As [`ECHO`], with a verdict on every turn.
pub fn proposing(arguments: &str) -> String {
    format!(
        "[[reply]]\ntext = \"So it is.\"\n\n[[tool]]\nname = \"propose_world_changes\"\narguments = '''{arguments}'''\n"
    )
}
