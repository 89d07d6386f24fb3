//! Puts the mistakes in: an operator is its neighbour, a condition its contrary, a statement is left out, a function
//! returns at once. What is for test builds only, or makes a seeded bug, is left as it is.

use std::collections::HashMap;
use std::fmt::Write as _;

use proc_macro2::Span;
use quote::{ToTokens, quote};
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{
    Arm, Attribute, BinOp, Block, Expr, ImplItemFn, Item, ItemFn, ReturnType, Stmt, parse_quote,
};

/// What asks whether a mistake is to be made. With `SHINGLE_REACHED` it writes the numbers of those that were asked about
/// into this file.
const ASKS: &str = r#"//! Which mistake is made.

use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock};

static MADE: OnceLock<(u32, Option<Mutex<std::fs::File>>)> = OnceLock::new();
static REACHED: [AtomicBool; 1 << 14] = [const { AtomicBool::new(false) }; 1 << 14];

pub(crate) fn on(number: u32) -> bool {
    let (made, reached) = MADE.get_or_init(|| {
        let read = std::env::var("SHINGLE_MUTANT").ok().and_then(|text| text.parse().ok());
        let file = std::env::var("SHINGLE_REACHED").ok();
        let file = file.map(|path| Mutex::new(std::fs::File::create(path).expect("a file")));
        (read.unwrap_or(0), file)
    });
    if let Some(file) = reached {
        if !REACHED[number as usize].swap(true, Ordering::Relaxed) {
            writeln!(file.lock().expect("no panic"), "{number}").expect("written");
        }
    }
    *made == number
}
"#;

/// Changes `files` of a crate, and puts a list of what was done into `mutants.txt` there.
pub fn make(krate: &str, files: &[&str]) -> Result<(), String> {
    let mut made = Made { file: String::new(), list: Vec::new(), names: HashMap::new() };
    for name in files {
        let path = format!("{krate}/src/{name}");
        let text = std::fs::read_to_string(&path).map_err(|why| format!("{path}: {why}"))?;
        let mut file = syn::parse_file(&text).map_err(|why| format!("{path}: {why}"))?;
        made.file = (*name).to_owned();
        made.visit_file_mut(&mut file);
        write(&path, &file.into_token_stream().to_string())?;
    }
    write(&format!("{krate}/src/mutant.rs"), ASKS)?;
    let lib = format!("{krate}/src/lib.rs");
    let text = std::fs::read_to_string(&lib).map_err(|why| format!("{lib}: {why}"))?;
    write(&lib, &format!("{text}\n#[allow(clippy::disallowed_methods)]\nmod mutant;\n"))?;
    let mut list = String::new();
    for (at, what) in made.list.iter().enumerate() {
        writeln!(list, "{} {what}", at + 1).expect("memory");
    }
    write(&format!("{krate}/mutants.txt"), &list)
}

fn write(path: &str, text: &str) -> Result<(), String> {
    std::fs::write(path, text).map_err(|why| format!("{path}: {why}"))
}

struct Made {
    file: String,
    list: Vec<String>,
    /// How many of each name there are.
    names: HashMap<String, u32>,
}

impl Made {
    /// The next number, for a mistake at this place.
    fn next(&mut self, span: Span, what: &str) -> proc_macro2::Literal {
        let same = format!("{} {what}", self.file);
        let before = self.names.entry(same).or_insert(0);
        *before += 1;
        // (By this name it has a reason: lines move.)
        let which = if *before > 1 { format!(" ({before})") } else { String::new() };
        self.list.push(format!("{}:{} {what}{which}", self.file, span.start().line));
        proc_macro2::Literal::u32_unsuffixed(self.list.len() as u32)
    }

    /// A function that returns at once.
    fn returns(&mut self, output: &ReturnType, name: &syn::Ident, body: &mut Block) {
        let kind = match output {
            ReturnType::Default => String::new(),
            ReturnType::Type(_, kind) => kind.to_token_stream().to_string(),
        };
        let at_once: &[Expr] = &match kind.as_str() {
            "bool" => vec![parse_quote!(return false), parse_quote!(return true)],
            "u64" | "usize" | "u32" => vec![parse_quote!(return 0), parse_quote!(return 1)],
            kind if kind.starts_with("Option <") => vec![parse_quote!(return None)],
            "" => vec![parse_quote!(return)],
            _ => vec![],
        };
        for at_once in at_once {
            let what = format!("{name}: {}", at_once.to_token_stream());
            let number = self.next(name.span(), &what);
            body.stmts.insert(0, parse_quote! { if crate::mutant::on(#number) { #at_once; } });
        }
    }
}

/// For test builds, or of no meaning to what a program does.
fn is_left_out(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|one| one.path().is_ident("cfg"))
}

fn speaks_of_bugs(tokens: &impl ToTokens) -> bool {
    let text = tokens.to_token_stream().to_string();
    text.contains("bug") || text.contains("Bug")
}

/// What is done only where a seeded bug is made. (Where it is *not* made is no such place.)
fn asks_for_a_bug(condition: &Expr) -> bool {
    match condition {
        Expr::MethodCall(call) => call.method == "has" && speaks_of_bugs(&call.args),
        Expr::Binary(both) if matches!(both.op, BinOp::And(_)) => {
            asks_for_a_bug(&both.left) || asks_for_a_bug(&both.right)
        }
        _ => false,
    }
}

/// A condition that binds names cannot be a value.
fn binds(condition: &Expr) -> bool {
    match condition {
        Expr::Let(_) => true,
        Expr::Binary(both) => binds(&both.left) || binds(&both.right),
        _ => false,
    }
}

fn neighbour(op: &BinOp) -> Option<BinOp> {
    Some(match op {
        BinOp::Lt(_) => parse_quote!(<=),
        BinOp::Le(_) => parse_quote!(<),
        BinOp::Gt(_) => parse_quote!(>=),
        BinOp::Ge(_) => parse_quote!(>),
        BinOp::Eq(_) => parse_quote!(!=),
        BinOp::Ne(_) => parse_quote!(==),
        BinOp::Add(_) => parse_quote!(-),
        BinOp::Sub(_) => parse_quote!(+),
        BinOp::And(_) => parse_quote!(||),
        BinOp::Or(_) => parse_quote!(&&),
        BinOp::AddAssign(_) => parse_quote!(-=),
        BinOp::SubAssign(_) => parse_quote!(+=),
        BinOp::BitOrAssign(_) => parse_quote!(&=),
        _ => return None,
    })
}

impl VisitMut for Made {
    fn visit_item_mut(&mut self, item: &mut Item) {
        let attributes: &[Attribute] = match item {
            Item::Fn(one) if one.sig.constness.is_some() => return,
            Item::Fn(one) => &one.attrs,
            Item::Impl(one) => &one.attrs,
            Item::Mod(one) => &one.attrs,
            _ => return,
        };
        if !is_left_out(attributes) {
            visit_mut::visit_item_mut(self, item);
        }
    }

    fn visit_item_fn_mut(&mut self, function: &mut ItemFn) {
        visit_mut::visit_block_mut(self, &mut function.block);
        let ItemFn { sig, block, .. } = function;
        self.returns(&sig.output, &sig.ident, block);
    }

    fn visit_impl_item_fn_mut(&mut self, function: &mut ImplItemFn) {
        if is_left_out(&function.attrs) || function.sig.constness.is_some() {
            return;
        }
        visit_mut::visit_block_mut(self, &mut function.block);
        let ImplItemFn { sig, block, .. } = function;
        if !speaks_of_bugs(&sig.ident) && !speaks_of_bugs(&sig.inputs) {
            self.returns(&sig.output, &sig.ident, block);
        }
    }

    fn visit_stmt_mut(&mut self, stmt: &mut Stmt) {
        if matches!(stmt, Stmt::Item(_)) || speaks_of_bugs(stmt) && !has_blocks(stmt) {
            return;
        }
        let text = stmt.to_token_stream().to_string();
        let span = stmt.span();
        visit_mut::visit_stmt_mut(self, stmt);
        let leaves_out = match stmt {
            Stmt::Expr(Expr::MethodCall(_) | Expr::Call(_) | Expr::Assign(_), Some(_)) => true,
            Stmt::Expr(Expr::Binary(one), Some(_)) => neighbour(&one.op).is_some(),
            _ => false,
        };
        if leaves_out && !speaks_of_bugs(stmt) {
            let number = self.next(span, &format!("left out: {}", short(&text)));
            *stmt = parse_quote! { if !crate::mutant::on(#number) { #stmt } };
        }
    }

    fn visit_expr_mut(&mut self, expr: &mut Expr) {
        if speaks_of_bugs(expr) && !contains_block(expr) {
            return;
        }
        if let Expr::If(one) = expr
            && asks_for_a_bug(&one.cond)
        {
            if let Some((_, other)) = &mut one.else_branch {
                self.visit_expr_mut(other);
            }
            return;
        }
        let text = expr.to_token_stream().to_string();
        let span = expr.span();
        visit_mut::visit_expr_mut(self, expr);
        match expr {
            Expr::Binary(one) if !binds(&one.left) && !binds(&one.right) => {
                let Some(op) = neighbour(&one.op) else { return };
                let (left, right) = (&one.left, &one.right);
                let what = format!(
                    "{} instead of {}: {}",
                    quote!(#op),
                    one.op.to_token_stream(),
                    short(&text)
                );
                let number = self.next(span, &what);
                *expr = parse_quote! {
                    (if crate::mutant::on(#number) { #left #op #right } else { #expr })
                };
            }
            Expr::Unary(one) if matches!(one.op, syn::UnOp::Not(_)) => {
                let inner = &one.expr;
                let number = self.next(span, &format!("not negated: {}", short(&text)));
                *expr = parse_quote! { (if crate::mutant::on(#number) { #inner } else { #expr }) };
            }
            Expr::If(one) if is_plain(&one.cond) => {
                let condition = &one.cond;
                let text = condition.to_token_stream().to_string();
                let number = self.next(condition.span(), &format!("negated: {}", short(&text)));
                one.cond = parse_quote! { (crate::mutant::on(#number) ^ #condition) };
            }
            Expr::Lit(one) => {
                if let syn::Lit::Bool(value) = &one.lit {
                    let what = format!("{} instead of {}", !value.value, value.value);
                    let number = self.next(span, &what);
                    *expr = parse_quote! { (crate::mutant::on(#number) ^ #value) };
                }
            }
            _ => {}
        }
    }

    fn visit_arm_mut(&mut self, arm: &mut Arm) {
        if !speaks_of_bugs(&arm.pat) {
            visit_mut::visit_arm_mut(self, arm);
        }
    }

    // (What is within a macro is no tree, and patterns are no values.)
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}

    fn visit_type_mut(&mut self, _: &mut syn::Type) {}
}

/// A condition of which nothing else is a mistake yet.
fn is_plain(condition: &Expr) -> bool {
    matches!(condition, Expr::MethodCall(_) | Expr::Call(_) | Expr::Path(_) | Expr::Field(_))
}

fn contains_block(expr: &Expr) -> bool {
    expr.to_token_stream().to_string().contains('{')
}

fn has_blocks(stmt: &Stmt) -> bool {
    stmt.to_token_stream().to_string().contains('{')
}

/// The beginning of some code, on one line.
fn short(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match text.char_indices().nth(70) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
