//! Expressions as a person would write them.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::{Child, Expr, Node, Operation};
use crate::op::BinaryOp;
use crate::operand::Source;

/// More operations than this are counted, not printed.
const MAX_PRINTED: usize = 256;

/// Prints the expression with the dtype and shape of each tensor. A node that is used more than once is given a name
/// first.
///
/// # Examples
///
/// ```
/// # use bitlane::{DType, Device, Tensor};
/// let x = Tensor::zeros([2, 3], DType::I64, &Device::cpu())?;
/// let mixed = x.expr() ^ (x.expr() >> 30);
/// let square = mixed.clone() * mixed;
/// assert_eq!(square.to_string(), "t0 = i64[2, 3] ^ (i64[2, 3] >> 30); t0 * t0");
/// # Ok::<(), bitlane::Error>(())
/// ```
impl fmt::Display for Expr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Graph { nodes, uses } = Graph::of(&self.root);
        if nodes.len() > MAX_PRINTED {
            return write!(f, "an expression of {} operations", nodes.len());
        }
        let mut names = Names::new();
        for node in nodes {
            if uses[&address(node)] > 1 {
                write!(f, "t{} = ", names.len())?;
                write_node(f, node, &names, false)?;
                f.write_str("; ")?;
                names.insert(address(node), names.len());
            }
        }
        write_child(f, &self.root, &names, false)
    }
}

impl fmt::Debug for Expr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({self}; {} rules)", self.rules)
    }
}

/// The numbers of the nodes that have names.
type Names = HashMap<*const (), usize>;

fn address(node: &Arc<Node<'_>>) -> *const () {
    Arc::as_ptr(node).cast()
}

/// The nodes of an expression, each once and after its operands, and how often each is used.
struct Graph<'b, 'a> {
    nodes: Vec<&'b Arc<Node<'a>>>,
    uses: HashMap<*const (), usize>,
}

impl<'b, 'a> Graph<'b, 'a> {
    fn of(root: &'b Child<'a>) -> Graph<'b, 'a> {
        let mut graph = Graph { nodes: Vec::new(), uses: HashMap::new() };
        // A node is seen twice: first its operands are put on top of it, then it is done.
        let mut waiting = vec![(root, false)];
        while let Some((child, is_done)) = waiting.pop() {
            let Child::Node(node) = child else { continue };
            if is_done {
                graph.nodes.push(node);
                continue;
            }
            let uses = graph.uses.entry(address(node)).or_insert(0);
            *uses += 1;
            if *uses == 1 {
                waiting.push((child, true));
                waiting.extend(node.children.iter().flatten().rev().map(|child| (child, false)));
            }
        }
        graph
    }
}

fn write_child(
    f: &mut fmt::Formatter<'_>,
    child: &Child<'_>,
    names: &Names,
    in_parentheses: bool,
) -> fmt::Result {
    match child {
        Child::Input(operand) => match operand.source() {
            Ok(source) => write_source(f, source),
            Err(scalar) => write!(f, "{scalar}"),
        },
        Child::Node(node) => match names.get(&address(node)) {
            Some(name) => write!(f, "t{name}"),
            None => write_node(f, node, names, in_parentheses),
        },
    }
}

fn write_source(f: &mut fmt::Formatter<'_>, source: Source<'_>) -> fmt::Result {
    write!(f, "{}{:?}", source.dtype(), source.shape())
}

fn write_node(
    f: &mut fmt::Formatter<'_>,
    node: &Node<'_>,
    names: &Names,
    in_parentheses: bool,
) -> fmt::Result {
    let children = || node.children.iter().flatten();
    if let Operation::Binary(op) = &node.operation
        && let Some(symbol) = symbol(*op)
    {
        let (open, close) = if in_parentheses { ("(", ")") } else { ("", "") };
        f.write_str(open)?;
        for (place, child) in children().enumerate() {
            if place > 0 {
                write!(f, " {symbol} ")?;
            }
            write_child(f, child, names, true)?;
        }
        return f.write_str(close);
    }
    write!(f, "{}(", node.operation.name())?;
    for (place, child) in children().enumerate() {
        f.write_str(if place == 0 { "" } else { ", " })?;
        write_child(f, child, names, false)?;
    }
    match &node.operation {
        Operation::Cast(dtype) => write!(f, ", {dtype})"),
        Operation::Reduce(_, axes) if !axes.is_empty() => write!(f, ", {axes:?})"),
        _ => f.write_str(")"),
    }
}

/// The operator of an operation that has one.
fn symbol(op: BinaryOp) -> Option<&'static str> {
    use crate::Shift::Arithmetic;
    Some(match op {
        BinaryOp::Add => "+",
        BinaryOp::Subtract => "-",
        BinaryOp::Multiply => "*",
        BinaryOp::Divide => "/",
        BinaryOp::Remainder => "%",
        BinaryOp::BitwiseAnd => "&",
        BinaryOp::BitwiseOr => "|",
        BinaryOp::BitwiseXor => "^",
        BinaryOp::LeftShift(Arithmetic) => "<<",
        BinaryOp::RightShift(Arithmetic) => ">>",
        _ => return None,
    })
}

#[cfg(all(test, feature = "cpu"))]
mod tests {
    use crate::{DType, Device, Tensor};

    #[test]
    fn functions_and_operators_read_as_they_are_written() {
        let x = Tensor::zeros([2], DType::F32, &Device::cpu()).unwrap();
        let e = ((x.expr().abs() - 0.5).maximum(0) * 2).copysign(&x).cast(DType::F16).mean(&[0]);
        let text = "mean(cast(copysign(maximum(abs(f32[2]) - 0.5, 0) * 2, f32[2]), f16), [0])";
        assert_eq!(e.to_string(), text);
    }

    #[test]
    fn deep_and_shared_graphs_neither_overflow_nor_explode() {
        let x = Tensor::zeros([2], DType::I32, &Device::cpu()).unwrap();
        let mut deep = x.expr();
        for _ in 0..100_000 {
            deep = deep + 1;
        }
        assert_eq!(deep.to_string(), "an expression of 100000 operations");
        assert!(deep.run().is_err());
        let mut shared = x.expr();
        for _ in 0..64 {
            shared = shared.clone() + shared;
        }
        assert!(shared.to_string().len() < 2000);
        assert_eq!(shared.run().unwrap().to_vec::<i32>().unwrap(), [0, 0]);
    }
}
