//! Tokens for token files.

use host::auth;

use crate::{Failure, cli::TokenArgs, output::Output};

/// Prints a token and its hash; only the hash belongs in the file.
pub(crate) fn run(args: &TokenArgs) -> Result<(), Failure> {
    let output = Output::default();
    let token = if args.hash {
        // Arguments can be read by every user of the machine.
        let token = std::io::read_to_string(std::io::stdin()).map_err(Failure::run)?;
        if token.trim_end().is_empty() {
            return Err(Failure::usage("--hash: there is no token on standard input"));
        }
        token
    } else {
        let token = auth::new_token().map_err(Failure::run)?;
        output.line(format_args!("token = \"{token}\""));
        token
    };
    output.line(format_args!("hash = \"{}\"", auth::hash_token(token.trim_end())));
    output.written()
}
