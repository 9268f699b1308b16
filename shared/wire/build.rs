//! Compiles `proto/` without a protoc on the machine, and keeps the descriptors for reflection.

use std::{
    env, fs, io,
    path::{Path, PathBuf},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // Asked for when it runs: a target folder that was copied keeps the script, and not the place.
    let root = Path::new(&env::var("CARGO_MANIFEST_DIR")?).join("../../proto");
    println!("cargo:rerun-if-changed={}", root.display());
    let mut files = Vec::new();
    collect(&root, &mut files)?;
    files.sort();

    let mut compiler = protox::Compiler::new([&root])?;
    compiler.include_imports(true).include_source_info(true);
    compiler.open_files(&files)?;
    let out = PathBuf::from(env::var("OUT_DIR")?);
    // Encoded by the compiler itself: re-encoding the struct would lose custom options.
    fs::write(out.join("descriptors.bin"), compiler.encode_file_descriptor_set())?;
    // Ordered maps: a message that is encoded twice gives the same bytes, and so the same request hash.
    tonic_prost_build::configure().btree_map(".").compile_fds(compiler.file_descriptor_set())?;
    Ok(())
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|ending| ending == "proto") {
            files.push(path);
        }
    }
    Ok(())
}
