//! A folder in which the program runs, and a process of it that serves, as tests of several commands use them.

#![allow(dead_code)] // no test uses all of it

use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::Value;
use shingle_nbd::client::{Client, ClientOptions};
use tempfile::TempDir;

pub(crate) const MIB: u64 = 1 << 20;
/// Longer than anything here takes, on a machine that is busy.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A folder for files and sockets.
pub(crate) struct Folder(pub(crate) TempDir);

impl Folder {
    pub(crate) fn new() -> Folder {
        Folder(shingle_testbed::folder())
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a short trace of each volume into the folder `msr`: writes of `bytes`, a tenth of a second apart,
    /// where `offset` says.
    pub(crate) fn msr(
        &self,
        volumes: &[&str],
        writes: u64,
        bytes: u64,
        offset: impl Fn(&str, u64) -> u64,
    ) {
        std::fs::create_dir(self.path("msr")).expect("a folder");
        for volume in volumes {
            let (host, disk) = volume.split_once('_').expect("host and disk");
            let line = |i| {
                let at = 128_166_372_003_061_629 + i * 1_000_000;
                format!("{at},{host},{disk},Write,{},{bytes},100\n", offset(volume, i))
            };
            let text: String = (0..writes).map(line).collect();
            std::fs::write(self.path(&format!("msr/{volume}.csv")), text).expect("a trace");
        }
    }

    pub(crate) fn command(&self, line: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_shingle"));
        command.current_dir(self.0.path()).env("XDG_RUNTIME_DIR", self.0.path()).env("TZ", "UTC");
        command.env_remove("NO_COLOR").env_remove("COLUMNS");
        command.args(line.split_whitespace());
        command
    }

    pub(crate) fn output(&self, line: &str) -> Output {
        self.command(line).output().expect("started")
    }

    /// Runs to success and returns stdout.
    pub(crate) fn done(&self, line: &str) -> String {
        let output = self.output(line);
        assert!(output.status.success(), "{line}: {}", text(&output.stderr));
        text(&output.stdout)
    }

    pub(crate) fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.done(line)).expect("JSON")
    }

    /// Runs with arguments that may have blanks in them. Returns exit code, stdout and stderr.
    pub(crate) fn run(&self, args: &[&str]) -> (i32, String, String) {
        let output = self.command("").args(args).output().expect("started");
        (output.status.code().expect("an exit code"), text(&output.stdout), text(&output.stderr))
    }

    /// Runs so to success, and returns stdout and stderr.
    pub(crate) fn said(&self, args: &[&str]) -> (String, String) {
        let (code, out, err) = self.run(args);
        assert_eq!(code, 0, "{args:?}: {err}");
        (out, err)
    }

    /// The results of a run or comparison.
    pub(crate) fn results(&self, args: &[&str]) -> Value {
        let (out, _) = self.said(&[args, &["--json", "-", "--quiet"]].concat());
        serde_json::from_str(&out).expect("JSON")
    }

    /// Is refused with `code` and one line that says `told`, which is returned.
    pub(crate) fn refused(&self, code: i32, line: &str, told: &str) -> String {
        let output = self.output(line);
        let err = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{line}: {err}");
        assert_eq!(err.lines().count(), 1, "{line}: {err}");
        assert!(err.starts_with("shingle: ") && err.contains(told), "{line}: {err}");
        err
    }

    /// Serves at `nbd.sock`, and waits until clients may come; `ask` is answered then, be it that something is wrong: the
    /// socket is there before a cache is begun, which changes files.
    pub(crate) fn serve(&self, line: &str, ask: &str) -> Served {
        let child = self.command(&format!("{line} --nbd unix:nbd.sock"));
        let mut served = Served({ child }.stderr(Stdio::piped()).spawn().expect("started"));
        let begun = Instant::now();
        while UnixStream::connect(self.path("nbd.sock")).is_err()
            || self.output(ask).stdout.is_empty()
        {
            let ended = served.0.try_wait().expect("asked").is_some();
            if ended || begun.elapsed() > PATIENCE {
                let _ = served.0.kill();
                panic!("{line}: {}", served.end());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        served
    }

    pub(crate) fn client(&self) -> Client<UnixStream> {
        let stream = UnixStream::connect(self.path("nbd.sock")).expect("connected");
        let options = ClientOptions { export: "", structured: true, contexts: &[] };
        Client::connect(stream, &options).expect("a handshake")
    }
}

/// A process that serves.
pub(crate) struct Served(pub(crate) Child);

impl Served {
    /// Waits until it has ended, and returns what it said.
    pub(crate) fn end(&mut self) -> String {
        let mut said = String::new();
        if let Some(mut stderr) = self.0.stderr.take() {
            std::io::Read::read_to_string(&mut stderr, &mut said).expect("text");
        }
        self.0.wait().expect("ended");
        said
    }

    /// As a power cut for the process, not for the machine.
    pub(crate) fn kill(mut self) {
        self.0.kill().expect("killed");
        self.end();
    }

    /// As a service manager ends it.
    pub(crate) fn terminate(self) {
        self.terminated();
    }

    /// The same, and returns what it has said.
    pub(crate) fn terminated(mut self) -> String {
        let id = self.0.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().expect("started").success());
        let said = self.end();
        assert_eq!(self.0.wait().expect("ended").code(), Some(0), "{said}");
        said
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // Gone already if the test went well.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// A setting by which a cache does not use its idle time today: however long a busy machine takes, what is dirty stays so.
pub(crate) fn never_idle() -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970");
    let hour = (now.as_secs() / 3_600 + 12) % 24;
    format!("limit.hours={hour}-{}", hour + 1)
}

/// A report without what differs from run to run: the program, and the time that runs took.
pub(crate) fn without_wall(mut report: Value) -> Value {
    report.as_object_mut().expect("a report").remove("shingle").expect("it names its program");
    for run in report["runs"].as_array_mut().expect("runs") {
        run.as_object_mut().expect("a run").remove("wall").expect("each run has a wall");
    }
    report
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

pub(crate) fn write(client: &mut Client<UnixStream>, offset: u64, data: &[u8]) {
    client.write(offset, data, 0).expect("connected").expect("written");
}
