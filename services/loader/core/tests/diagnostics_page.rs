//! The manual page of the diagnostics is the table in the code, written down.

use loader_core::diagnostic::{Code, Severity};

const PAGE: &str = include_str!("../../../../docs/profile-diagnostics.md");

fn page() -> String {
    let mut page = String::from(
        "# What a profile's diagnostics say\n\n\
         Nothing is skipped, moved, cut or approximated without one of these. `place` names the prompt,\n\
         field or entry; `details` hold the figures. Codes are stable.\n\n\
         | code | severity | what happened | what to do |\n|---|---|---|---|\n",
    );
    for code in Code::ALL {
        let severity = match code.severity() {
            Severity::Info => "info",
            Severity::Warning => "warning",
            Severity::Error => "error",
        };
        let (name, meaning, remedy) = (code.name(), code.meaning(), code.remedy());
        page.push_str(&format!("| `{name}` | {severity} | {meaning} | {remedy} |\n"));
    }
    page
}

#[test]
fn the_page_holds_every_code_as_the_code_has_it() {
    assert_eq!(PAGE, page(), "write the right side to docs/profile-diagnostics.md");
}
