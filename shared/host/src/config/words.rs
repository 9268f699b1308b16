//! What a parser says of a bad value or a bad file, in one line.

/// clap's words without its prefix, its usage and its advice to ask for help.
pub(super) fn of_clap(error: &clap::Error) -> String {
    let text = error.to_string();
    let told = text.strip_prefix("error: ").unwrap_or(&text).lines().map(str::trim);
    let told = told.take_while(|line| {
        !line.starts_with("Usage:") && !line.starts_with("For more information")
    });
    told.filter(|line| !line.is_empty()).collect::<Vec<_>>().join(" ")
}

/// The place and the cause, without the picture of the place.
pub fn of_toml(error: &toml::de::Error) -> String {
    let (shown, cause) = (error.to_string(), error.message().replace('\n', " "));
    match shown.lines().next().and_then(|head| head.strip_prefix("TOML parse error at ")) {
        Some(place) => format!("{place}: {cause}"),
        None => cause,
    }
}

#[cfg(test)]
mod tests {
    use toml::Table;

    use super::*;

    #[test]
    fn a_bad_file_is_told_in_one_line_with_its_place() {
        let error = "a = 1\n[[token".parse::<Table>().expect_err("not closed");
        let told = of_toml(&error);
        assert!(told.starts_with("line 2, column 8: unclosed"), "{told}");
        assert_eq!(told.lines().count(), 1);
    }
}
