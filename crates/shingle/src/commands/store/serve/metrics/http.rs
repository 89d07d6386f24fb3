//! The part of HTTP that clients which fetch metrics need: one request per connection.

use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::time::{Duration, Instant};

use shingle_nbd::stream::Stream;

/// Most bytes of a request.
const REQUEST_BYTES_MAX: usize = 16 << 10;
const HEADERS_MAX: usize = 64;
/// Most bytes of one send.
const PIECE_BYTES: usize = 16 << 10;

/// The answer to a request.
#[derive(PartialEq, Eq, Debug)]
enum Said {
    /// None yet: the request is incomplete.
    More,
    Metrics {
        /// Only the head of the reply, for HEAD.
        head: bool,
    },
    Refused(&'static str),
}

fn say(request: &[u8]) -> Said {
    let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(request) {
        Ok(httparse::Status::Partial) if request.len() < REQUEST_BYTES_MAX => return Said::More,
        Ok(httparse::Status::Partial) => {
            return Said::Refused("431 Request Header Fields Too Large");
        }
        Err(_) => return Said::Refused("400 Bad Request"),
        Ok(httparse::Status::Complete(_)) => {}
    }
    let path = parsed.path.unwrap_or_default();
    let path = path.split('?').next().unwrap_or_default();
    match (parsed.method.unwrap_or_default(), path) {
        ("GET", "/metrics") => Said::Metrics { head: false },
        ("HEAD", "/metrics") => Said::Metrics { head: true },
        ("GET" | "HEAD", _) => Said::Refused("404 Not Found"),
        _ => Said::Refused("405 Method Not Allowed"),
    }
}

/// Checks that any bytes are answered in HTTP, or are the start of a valid request.
#[cfg(feature = "fuzzing")]
pub(in crate::commands::store::serve) fn fuzzed(request: &[u8]) {
    let said = say(request);
    // The answer is the same if the request arrives in pieces.
    let pieces = (0..request.len()).step_by(request.len() / 16 + 1);
    let refused = pieces.map(|end| say(&request[..end])).find(|said| *said != Said::More);
    match (&said, refused) {
        (Said::More, early) => assert!(early.is_none() && request.len() < REQUEST_BYTES_MAX),
        (said, early) => assert!(early.is_none_or(|early| early == *said), "{said:?}"),
    }
    if let Said::Refused(status) = said {
        assert!(status.starts_with('4'));
    }
}

/// A connection with a deadline: a client that sends or takes a byte now and then gets no more time
/// than others.
struct Until<'a> {
    stream: &'a Stream,
    end: Instant,
}

impl<'a> Until<'a> {
    fn after(limit: Duration, stream: &'a Stream) -> Until<'a> {
        Until { stream, end: Instant::now() + limit }
    }

    fn in_time(&self) -> io::Result<&'a Stream> {
        match self.end.saturating_duration_since(Instant::now()) {
            Duration::ZERO => Err(ErrorKind::TimedOut.into()),
            left => self.stream.set_timeouts(Some(left)).map(|()| self.stream),
        }
    }
}

impl Read for Until<'_> {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        self.in_time()?.read(bytes)
    }
}

impl Write for Until<'_> {
    /// Writes one piece at a time: in a long write to a unix socket, Linux restarts the timeout for
    /// each buffer that it fills.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.in_time()?.write(&bytes[..bytes.len().min(PIECE_BYTES)])
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Answers one request. It must arrive within `limit`, and so must the reply be sent.
pub(super) fn answer(
    stream: &Stream,
    limit: Duration,
    metrics: impl FnOnce() -> String,
) -> io::Result<()> {
    let mut from = Until::after(limit, stream);
    let mut request = Vec::new();
    let said = loop {
        let mut bytes = [0; 1024];
        let read = from.read(&mut bytes)?;
        request.extend_from_slice(&bytes[..read]);
        match say(&request) {
            Said::More if read == 0 => return Ok(()),
            Said::More => {}
            said => break said,
        }
    };
    let (status, kind, body, head) = match said {
        Said::Metrics { head } => {
            let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
            ("200 OK", kind, metrics(), head)
        }
        Said::Refused(status) => (
            status,
            "text/plain; charset=utf-8",
            format!("{status}; metrics are at /metrics\n"),
            false,
        ),
        Said::More => return Ok(()),
    };
    let length = body.len();
    let mut reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    if !head {
        reply += &body;
    }
    Until::after(limit, stream).write_all(reply.as_bytes())?;
    if status != "200 OK" {
        linger(stream);
    }
    Ok(())
}

/// Reads what a refused client still sends, for a moment: unread bytes would make the system reset
/// the connection, and the client would not see the reply.
fn linger(stream: &Stream) {
    stream.shutdown(Shutdown::Write);
    let rest = Until::after(Duration::from_secs(1), stream);
    let _ = io::copy(&mut rest.take(4 * REQUEST_BYTES_MAX as u64), &mut io::sink());
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    fn asked(request: &[u8]) -> String {
        let (mut ours, theirs) = UnixStream::pair().expect("two sockets");
        ours.write_all(request).expect("sent");
        ours.shutdown(Shutdown::Write).expect("shut");
        let theirs = Stream::Unix(theirs);
        answer(&theirs, Duration::from_secs(60), || "the metrics\n".to_owned()).expect("answered");
        drop(theirs);
        let mut reply = String::new();
        ours.read_to_string(&mut reply).expect("text");
        reply
    }

    #[test]
    fn a_get_of_metrics_gets_them_and_nothing_else_does() {
        let reply = asked(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nAccept: */*\r\n\r\n");
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
        assert!(
            reply.ends_with("Content-Length: 12\r\nConnection: close\r\n\r\nthe metrics\n"),
            "{reply}"
        );
        assert!(asked(b"HEAD /metrics HTTP/1.0\r\n\r\n").ends_with("close\r\n\r\n"));
        for (request, status) in [
            (&b"GET / HTTP/1.1\r\n\r\n"[..], "404"),
            (b"POST /metrics HTTP/1.1\r\n\r\n", "405"),
            (b"NBDMAGIC\0\0\0\r\n\r\n", "400"),
            (&[b'a'; 20_000], "4"),
            (&[b"GET /metrics HTTP/1.1\r\nX: ", &[b'a'; 20_000][..]].concat(), "431"),
        ] {
            let reply = asked(request);
            assert!(reply.starts_with(&format!("HTTP/1.1 {status}")), "{reply}");
        }
        assert_eq!(asked(b"GET /metrics HTTP/1.1\r\n"), "", "it broke off");
    }

    /// Answers a client that does `step` again and again, and looks whether that comes to an end.
    fn ends(request: &[u8], metrics: &str, step: fn(&mut UnixStream) -> io::Result<()>) -> bool {
        let (mut ours, theirs) = UnixStream::pair().expect("two sockets");
        ours.write_all(request).expect("sent");
        let (to, ended) = std::sync::mpsc::channel();
        let metrics = metrics.to_owned();
        std::thread::spawn(move || {
            let answered = answer(&Stream::Unix(theirs), Duration::from_millis(200), || metrics);
            let _ = to.send(answered.is_ok());
        });
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(20) {
            let _ = step(&mut ours);
            if ended.recv_timeout(Duration::from_millis(20)).is_ok() {
                return true;
            }
        }
        false
    }

    /// A few of these would be all that is answered.
    #[test]
    fn who_sends_or_takes_a_little_now_and_then_is_not_waited_for() {
        let sends = |client: &mut UnixStream| client.write_all(b"x");
        assert!(ends(b"GET /metrics HTTP/1.1\r\nX: ", "", sends), "a request without an end");
        assert!(ends(b"GET / HTTP/1.1\r\n\r\n", "", sends), "it is refused, and sends on");
        let takes = |client: &mut UnixStream| client.read_exact(&mut [0; PIECE_BYTES]);
        let long = "x".repeat(64 << 20);
        assert!(ends(b"GET /metrics HTTP/1.1\r\n\r\n", &long, takes), "it takes its time");
    }
}
