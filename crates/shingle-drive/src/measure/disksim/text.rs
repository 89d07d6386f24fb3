//! The text of DiskSim's parameter files: `type name { key = value, … }`, where a value is a word, a number, a block or
//! a list `[ … ]`, and `#` begins a comment.

use super::DiskSimError;
use std::path::Path;

/// Most levels of nested blocks: the files have four.
const DEPTH_MAX: u32 = 16;

/// What is written between `{` and `}`.
#[derive(Debug)]
pub(super) struct Block {
    /// Where it begins.
    line: usize,
    entries: Vec<(String, usize, Value)>,
}

#[derive(Debug)]
pub(super) enum Value {
    Text(String),
    Block(Block),
    List(Vec<Value>),
}

/// An error and its line.
type Wrong = (usize, String);

impl Block {
    pub(super) fn of(file: &Path, text: &str) -> Result<Block, DiskSimError> {
        let plain: Vec<&str> =
            text.lines().map(|line| line.split('#').next().unwrap_or_default()).collect();
        let plain = plain.join("\n");
        let mut parser = Parser { text: plain.as_bytes(), at: 0, line: 1 };
        let parsed = parser.value(0).and_then(|value| match value {
            Value::Block(block) => match parser.skip(b"") {
                None => Ok(block),
                Some(_) => Err((parser.line, "something follows the end of the block".into())),
            },
            _ => Err((parser.line, "no block `type name { … }`".into())),
        });
        parsed.map_err(|(line, what)| DiskSimError::new(file, Some(line), what))
    }

    fn find(&self, key: &str) -> Result<&(String, usize, Value), Wrong> {
        let found = self.entries.iter().find(|(other, ..)| other == key);
        found.ok_or_else(|| (self.line, format!("the block that begins here has no `{key}`")))
    }

    pub(super) fn number(&self, key: &str, least: f64, most: f64) -> Result<f64, Wrong> {
        let (_, line, value) = self.find(key)?;
        let number = match value {
            Value::Text(text) => text.parse::<f64>().ok(),
            _ => None,
        };
        let in_range = number.filter(|number| (least..=most).contains(number));
        in_range.ok_or_else(|| (*line, format!("`{key}` is a number from {least} to {most}")))
    }

    pub(super) fn count(&self, key: &str, least: u64, most: u64) -> Result<u64, Wrong> {
        let number = self.number(key, least as f64, most as f64)?;
        if number.fract() == 0.0 {
            return Ok(number as u64); // in its range, which is far below 2^53
        }
        Err((self.find(key)?.1, format!("`{key}` is a whole number")))
    }

    pub(super) fn text(&self, key: &str) -> Result<&str, Wrong> {
        match self.find(key)? {
            (_, _, Value::Text(text)) => Ok(text),
            (_, line, _) => Err((*line, format!("`{key}` is a word"))),
        }
    }

    pub(super) fn block(&self, key: &str) -> Result<&Block, Wrong> {
        match self.find(key)? {
            (_, _, Value::Block(block)) => Ok(block),
            (_, line, _) => Err((*line, format!("`{key}` is a block"))),
        }
    }

    /// A list of blocks, one at least.
    pub(super) fn blocks(&self, key: &str) -> Result<Vec<&Block>, Wrong> {
        let (_, line, value) = self.find(key)?;
        let wrong = || (*line, format!("`{key}` is a list of blocks"));
        let Value::List(list) = value else { return Err(wrong()) };
        let blocks = list.iter().map(|value| match value {
            Value::Block(block) => Ok(block),
            _ => Err(wrong()),
        });
        let blocks = blocks.collect::<Result<Vec<&Block>, Wrong>>()?;
        if blocks.is_empty() { Err(wrong()) } else { Ok(blocks) }
    }

    pub(super) fn line(&self) -> usize {
        self.line
    }
}

/// The parser's text and position. It skips comments.
struct Parser<'a> {
    text: &'a [u8],
    at: usize,
    line: usize,
}

impl Parser<'_> {
    /// Skips blanks and the bytes of `also`. Returns the byte that follows.
    fn skip(&mut self, also: &[u8]) -> Option<u8> {
        while let Some(&byte) = self.text.get(self.at) {
            if !byte.is_ascii_whitespace() && !also.contains(&byte) {
                return Some(byte);
            }
            self.step();
        }
        None
    }

    fn step(&mut self) {
        self.line += usize::from(self.text.get(self.at) == Some(&b'\n'));
        self.at += 1;
    }

    /// Returns the text up to a byte of `ends`, and that byte, which is not consumed.
    fn until(&mut self, ends: &[u8]) -> (String, Option<u8>) {
        let from = self.at;
        while let Some(&byte) = self.text.get(self.at) {
            if ends.contains(&byte) {
                break;
            }
            self.step();
        }
        let text = String::from_utf8_lossy(&self.text[from..self.at]);
        (text.trim().to_owned(), self.text.get(self.at).copied())
    }

    fn value(&mut self, depth: u32) -> Result<Value, Wrong> {
        if depth > DEPTH_MAX {
            return Err((self.line, "blocks lie in too many others".into()));
        }
        if self.skip(b"") == Some(b'[') {
            self.step();
            return self.list(depth);
        }
        let line = self.line;
        match self.until(b",{}[]=") {
            (_, Some(b'{')) => {
                self.step();
                self.block(line, depth)
            }
            (text, _) if text.is_empty() => Err((line, "a value is missing".into())),
            (text, _) if text.contains('\n') => Err((line, "a `,` is missing at the end".into())),
            (text, _) => Ok(Value::Text(text)),
        }
    }

    fn list(&mut self, depth: u32) -> Result<Value, Wrong> {
        let line = self.line;
        let mut values = Vec::new();
        loop {
            match self.skip(b",") {
                None => return Err((line, "the list that begins here has no `]`".into())),
                Some(b']') => {
                    self.step();
                    return Ok(Value::List(values));
                }
                Some(_) => values.push(self.value(depth + 1)?),
            }
        }
    }

    fn block(&mut self, line: usize, depth: u32) -> Result<Value, Wrong> {
        let mut entries = Vec::new();
        loop {
            match self.skip(b",") {
                None => return Err((line, "the block that begins here has no `}`".into())),
                Some(b'}') => {
                    self.step();
                    return Ok(Value::Block(Block { line, entries }));
                }
                Some(_) => {
                    let line = self.line;
                    let (key, end) = self.until(b"=,{}[]");
                    if end != Some(b'=') || key.is_empty() {
                        return Err((line, "no `key = value`".into()));
                    }
                    self.step();
                    entries.push((key, line, self.value(depth + 1)?));
                }
            }
        }
    }
}
