//! The manual page of the diagnostics is the table in the code, written down.

use std::fmt::Write as _;

use loader_core::diagnostic::Code;

const PAGE: &str = include_str!("../../../../docs/profile-diagnostics.md");

const HEAD: &str = "\
# What imports and profiles say

Nothing is skipped, moved, cut or approximated without one of these, neither when a file is imported nor
when a profile is compiled. `place` names the file's field, the prompt or the entry; `details` hold the
figures. Codes are stable. *At import* says what became of the thing, where an import can say the code.

| code | severity | at import | what happened | what to do |
|---|---|---|---|---|
";

const REASONS: &str = "
## Reasons of `MACRO_PROBLEM`

| `reason` | what happened |
|---|---|
";

fn page() -> String {
    let mut page = HEAD.to_owned();
    for code in Code::ALL {
        let (name, severity) = (code.name(), code.severity().name());
        let fate = code.fate().map_or("", |fate| fate.name());
        let (meaning, remedy) = (code.meaning(), code.remedy());
        let _ = writeln!(page, "| `{name}` | {severity} | {fate} | {meaning} | {remedy} |");
    }
    page.push_str(REASONS);
    for reason in macros::Code::ALL {
        let _ = writeln!(page, "| `{}` | {} |", reason.as_str(), reason.meaning());
    }
    page
}

#[test]
fn the_page_holds_every_code_as_the_code_has_it() {
    assert_eq!(PAGE, page(), "write the right side to docs/profile-diagnostics.md");
}
