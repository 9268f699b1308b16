//! Files in, typed models and honest reports out: one module per kind of file, and the corpus.

mod archives;
mod cards;
mod corpus;
mod edits;
mod laws;
mod personas;
mod pictures;
mod presets;
mod types;

use loader_core::format::Report;

/// The codes of a report in order.
fn codes(report: &Report) -> Vec<&str> {
    report.findings.iter().map(|finding| finding.code.name()).collect()
}

/// The codes with their paths, the recognised things aside.
fn repairs(report: &Report) -> Vec<(&str, &str)> {
    let recognised = Some(loader_core::format::Fate::Recognised);
    let findings = report.findings.iter().filter(|finding| finding.code.fate() != recognised);
    findings.map(|finding| (finding.code.name(), finding.path.as_str())).collect()
}

fn fixture(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name);
    std::fs::read(path).expect("the fixture is there")
}
