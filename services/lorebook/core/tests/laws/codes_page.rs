//! The manual page of lore's codes is the tables in the code, written down.

use lorebook_core::{
    activation::{self, SkipReason},
    import,
};

const PAGE: &str = include_str!("../../../../../docs/lore-diagnostics.md");

fn page() -> String {
    let mut page = String::from(
        "# What lore's codes say\n\n\
         Codes are stable. An import report has one finding for each field and fate: `details` hold the\n\
         `count`, the `fields` with theirs, and the first `places`; absent fields share one finding. A\n\
         profile passes the diagnostics of activation on, each under its `place`.\n\n\
         ## An import report\n\n| code | severity | what happened |\n|---|---|---|\n",
    );
    for code in import::Code::ALL {
        let severity = if code.is_warning() { "warning" } else { "info" };
        page.push_str(&format!("| `{}` | {severity} | {} |\n", code.as_str(), code.meaning()));
    }
    page.push_str("\n## Activation\n\n| code | what happened |\n|---|---|\n");
    for code in activation::Code::ALL {
        page.push_str(&format!("| `{}` | {} |\n", code.as_str(), code.meaning()));
    }
    page.push_str("\n## Why an entry did not fire\n\nAnswered on request.\n\n| reason | what it means |\n|---|---|\n");
    for reason in SkipReason::ALL {
        page.push_str(&format!("| `{}` | {} |\n", reason.as_str(), reason.meaning()));
    }
    page
}

#[test]
fn the_page_holds_every_code_as_the_code_has_it() {
    assert_eq!(PAGE, page(), "write the right side to docs/lore-diagnostics.md");
}
