//! Every command that a document or `--help` shows is run, over small traces of the names used there.
//! (`docs/refresh --check` compares what the documents quote of the output.)
//!
//! What is not run is in [`NOT_RUN`], with the reason. A command that is neither run nor there fails.

use std::cell::RefCell;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Beginnings of commands that are shown and not run here, and why.
const NOT_RUN: &[(&str, &str)] = &[
    ("cargo test --workspace", "runs this test"),
    ("cargo build --release", "builds, and .ci/run builds too"),
    (
        "pip install ",
        "builds the Python package, as .ci/python does; its tests run what docs/python.md shows",
    ),
    ("shingle list anchors", "takes long; tests of shingle-drive hold each of its rows"),
    (
        "shingle reproduce ",
        "takes minutes to hours; .ci/run reproduces a figure of each paper, scaled",
    ),
];

/// Programs of others that documents show. Where they are not installed the line is left out, which is
/// printed; the steps of CI with real clients need them.
const OTHERS: &[&str] = &["truncate", "nbdinfo", "nbdcopy", "qemu-io", "cmp", "curl", "cp", "mv"];

/// Commands that replay a trace are run over the beginning of it.
const SHORTENED: &[&[&str]] =
    &[&["bound"], &["compare"], &["curve"], &["run"], &["sweep"], &["trace", "info"]];
const BEGINNING: [&str; 2] = ["--requests", "2k"];

#[test]
fn every_command_of_the_documents_runs() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut documents = vec![root.join("README.md")];
    let docs = std::fs::read_dir(root.join("docs")).expect("the documents");
    documents.extend(docs.map(|entry| entry.expect("an entry").path()));
    documents.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    documents.sort();
    // Each document has a folder of its own, so that documents can go side by side.
    let next = AtomicUsize::new(0);
    let run_some = || {
        let mut shown = Vec::new();
        while let Some(document) = documents.get(next.fetch_add(1, Ordering::Relaxed)) {
            let folder = Folder::new();
            let text = std::fs::read_to_string(document).expect("a document");
            for (name, content) in files(&text) {
                folder.write(&name, content.as_bytes());
            }
            for line in commands(&text) {
                folder.run(&line, &document.display().to_string());
                shown.push(line);
            }
        }
        shown
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let shown: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..cores).map(|_| scope.spawn(run_some)).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("all of them run")).collect()
    });
    assert!(shown.len() > 20, "the documents show commands");
    for (beginning, _) in NOT_RUN {
        assert!(
            shown.iter().any(|line| line.starts_with(beginning)),
            "{beginning}: no longer shown"
        );
    }
}

#[test]
fn every_example_of_the_help_runs() {
    let folder = Folder::new();
    for share in ["1", "2"] {
        let shard = format!("{share}/2");
        let sweep = "shingle sweep trace.csv.gz -p lru -c 1%,5%";
        folder.run(&format!("{sweep} --shard {shard} --out share-{share}"), "the shares to merge");
    }
    let mut examples = Vec::new();
    collect(&folder, &[], &mut examples);
    assert!(examples.len() > 8, "{examples:?}");
    for example in &examples {
        // (What changes SSD and disk is run in docs/store.md: the examples behind go on with these.)
        let changes = ["shingle store replace ", "shingle store grow "];
        if !changes.iter().any(|beginning| example.starts_with(beginning)) {
            folder.run(example, "--help");
        }
    }
}

/// The examples in the help of the command `path` and those below it.
fn collect(folder: &Folder, path: &[&str], examples: &mut Vec<String>) {
    let output = folder.command(&[path, &["--help"]].concat()).output().expect("started");
    let help = String::from_utf8(output.stdout).expect("text");
    // An example may be broken to fit the width: it goes on to the next one or the end of the help.
    let shown = help.split("Example: ").skip(1);
    examples.extend(shown.map(|example| example.split_whitespace().collect::<Vec<_>>().join(" ")));
    let below = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    for line in below.take_while(|line| !line.is_empty()) {
        // The names stand two spaces in, what they do further.
        let name = line.strip_prefix("  ").filter(|rest| !rest.starts_with(' '));
        let name = name.and_then(|rest| rest.split_whitespace().next()).filter(|n| *n != "help");
        if let Some(name) = name {
            collect(folder, &[path, &[name]].concat(), examples);
        }
    }
}

/// The commands of all blocks of `sh` in a document, comments taken off and broken lines joined.
fn commands(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut inside = false;
    let mut begun = String::new();
    for line in text.lines() {
        if line.starts_with("```") {
            inside = line == "```sh";
            continue;
        }
        let line = line.split(" #").next().unwrap_or_default().trim();
        if !inside || line.is_empty() || line.starts_with('#') {
            continue;
        }
        match line.strip_suffix('\\') {
            Some(part) => begun += part,
            None => found.push(std::mem::take(&mut begun) + line),
        }
    }
    found
}

/// The files that a document shows: blocks of `toml` that begin with a comment of their name alone.
fn files(text: &str) -> Vec<(String, String)> {
    let blocks = text.split("```toml\n# ").skip(1);
    let files = blocks.filter_map(|block| block.split("```").next()?.split_once('\n'));
    let named = files.filter(|(name, _)| name.ends_with(".toml") && !name.contains(' '));
    named.map(|(name, content)| (name.to_owned(), content.to_owned())).collect()
}

/// Words of a command line, with simple quotes.
fn words(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut quote = None;
    for c in line.chars() {
        match quote {
            Some(end) if c == end => quote = None,
            None if c == '\'' || c == '"' => quote = Some(c),
            None if c == ' ' => words.push(String::new()),
            _ => words.last_mut().expect("a word is begun").push(c),
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// A folder with a trace under each name that is used, and with an SSD and a disk; and what runs in the
/// background there.
struct Folder {
    folder: TempDir,
    children: RefCell<Vec<Child>>,
    /// Files that a program which is not installed would have made.
    missing: RefCell<Vec<String>>,
}

impl Drop for Folder {
    fn drop(&mut self) {
        for child in self.children.get_mut() {
            // Mostly it was stopped by a command that was shown, too.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

impl Folder {
    fn new() -> Folder {
        let folder = Folder {
            folder: shingle_testbed::folder(),
            children: RefCell::default(),
            missing: RefCell::default(),
        };
        for (name, bytes) in [("cache.img", 64 << 20), ("disk.img", 256 << 20)] {
            let file = File::create(folder.path(name)).expect("made");
            file.set_len(bytes).expect("as long");
        }
        let seeds = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds");
        let vscsi = std::fs::read(seeds.join("trace_vscsi/v1.bin")).expect("a small trace");
        folder.write("trace.vscsi", &vscsi);
        folder.write("trace.vscsi.zst", &zstd(&vscsi));
        // Writes and reads here and there over a gigabyte.
        let at = |n: u64| (n * 7919 % 1000) << 20;
        let lines = |line: &dyn Fn(u64, u64) -> String| -> Vec<u8> {
            (0..600).map(|n| line(n, at(n)) + "\n").collect::<String>().into_bytes()
        };
        let op = |n: u64| if n.is_multiple_of(3) { "Read" } else { "Write" };
        let msr = lines(&|n, at| {
            // Ten seconds apart, so that there is a second hour to cut out.
            let time = 128_166_372_003_061_629 + n * 100_000_000;
            format!("{time},hm,0,{},{at},8192,100", op(n))
        });
        folder.write("trace.csv.gz", &gzip(&msr));
        for name in ["hm_0.csv.gz", "web.csv.gz", "db.csv.gz"] {
            folder.write(name, &gzip(&msr));
        }
        folder.write("TRACE", &msr);
        let plain = lines(&|n, at| format!("{},{},{at},4096", n * 1000, op(n)));
        folder.write("disk.csv", &plain);
        let named = [b"time_us,op,offset,size\n".to_vec(), plain].concat();
        folder.write("disk.csv.zst", &zstd(&named));
        let spc = |n, at: u64| {
            format!("{},{},4096,{},{n}.5", n % 3, at / 512, if n % 2 == 0 { 'R' } else { 'W' })
        };
        folder.write("financial.spc", &lines(&spc));
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::write(self.path(name), bytes).expect("written");
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
        command
            .current_dir(self.folder.path())
            .env("XDG_RUNTIME_DIR", self.folder.path())
            .args(args);
        command.env("XDG_STATE_HOME", self.path("state"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command line to success, unless it is one of those not run.
    fn run(&self, line: &str, place: &str) {
        if NOT_RUN.iter().any(|(beginning, _)| line.starts_with(beginning)) {
            return;
        }
        // A pipe into it is filled here: not every machine has the programs.
        let (input, line) = match line.split_once(" | ") {
            None => (Vec::new(), line),
            Some((source, line)) => {
                let name = source.strip_prefix("zstdcat ");
                let name =
                    name.unwrap_or_else(|| panic!("{place}: `{source} |` is not known here"));
                let file = std::fs::File::open(self.path(name)).expect("a trace");
                (zstd::decode_all(file).expect("zstd"), line)
            }
        };
        let line = line.replacen("cargo run --release --", "shingle", 1);
        let (background, line) = match line.strip_suffix(" &") {
            Some(line) => (true, line),
            // It is shown alone, as the last thing one types.
            None => {
                let serves = ["shingle store serve", "shingle model serve", "shingle zoned serve"];
                (serves.iter().any(|beginning| line.starts_with(beginning)), line.as_str())
            }
        };
        let words = words(line);
        let (program, args) = words.split_first().expect("a command");
        if OTHERS.contains(&program.as_str()) {
            return self.run_other(program, args, place);
        }
        assert_eq!(program, "shingle", "{place}: `{line}` is neither run nor in NOT_RUN");
        let mut args: Vec<&str> = args.iter().map(String::as_str).collect();
        let replays = SHORTENED.iter().any(|begin| args.starts_with(begin));
        if replays && !args.starts_with(&["sweep", "merge"]) && !args.contains(&BEGINNING[0]) {
            args.extend(BEGINNING);
        }
        let mut child = self.command(&args).spawn().expect("started");
        if background {
            self.children.borrow_mut().push(child);
            return self.wait_for_socket(&args);
        }
        child.stdin.take().expect("a pipe").write_all(&input).expect("read");
        let output = child.wait_with_output().expect("ended");
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: `{line}` fails: {told}");
    }
}

impl Folder {
    fn run_other(&self, program: &str, args: &[String], place: &str) {
        // What it would have made is missing. (A server is no file.)
        let left_out = || {
            let is_file = |arg: &&String| !arg.starts_with('-') && !arg.contains("://");
            let absent = args.iter().filter(is_file).filter(|arg| !self.path(arg).exists());
            self.missing.borrow_mut().extend(absent.cloned());
        };
        let lacks = args.iter().find(|arg| self.missing.borrow().contains(arg));
        if let Some(arg) = lacks {
            left_out();
            return println!("{place}: nothing made {arg}: {program} is not run");
        }
        let mut command = Command::new(program);
        let output = match command.current_dir(self.folder.path()).args(args).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                left_out();
                return println!("{place}: {program} is not installed: not run");
            }
            other => other.expect("started"),
        };
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {program} {args:?} fails: {told}");
    }

    /// Until whoever serves `unix:PATH` of `args` may be asked.
    fn wait_for_socket(&self, args: &[&str]) {
        // On the command line, or in a file of options.
        let file = args.iter().position(|&arg| arg == "--config").map(|at| self.path(args[at + 1]));
        let file = file.map(|file| std::fs::read_to_string(file).expect("a file of the document"));
        let file = file.unwrap_or_default();
        let words = args.iter().copied().chain(file.split('"'));
        let paths = words.filter_map(|word| word.strip_prefix("unix:"));
        for path in paths.map(|path| self.path(path)) {
            let begun = Instant::now();
            while UnixStream::connect(&path).is_err() {
                assert!(begun.elapsed() < Duration::from_secs(60), "{args:?}: nobody listens");
                std::thread::sleep(Duration::from_millis(10));
            }
        }
    }
}

fn zstd(bytes: &[u8]) -> Vec<u8> {
    zstd::encode_all(bytes, 1).expect("zstd")
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut writer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    writer.write_all(bytes).expect("gzip");
    writer.finish().expect("gzip")
}
