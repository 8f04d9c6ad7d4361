//! Printing of expressions in the notation in which they are written.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use super::Expr;
use super::graph::{Argument, Graph, Node, Operation, Root};
use crate::op::BinaryOp;
use crate::operand::{InMemory, Operand};

/// Expressions with more operations than this are not printed; their operations are counted.
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
        let root = match &self.root {
            Root::Input(operand) => return write_input(f, operand),
            Root::Graph(graph) => graph,
        };
        let Graphs { graphs, uses, nodes } = Graphs::of(root);
        if nodes > MAX_PRINTED {
            return write!(f, "an expression of {nodes} operations");
        }
        let mut names = Names::new();
        for graph in graphs {
            if uses[&address(graph)] > 1 {
                write!(f, "t{} = ", names.len())?;
                write_graph(f, graph, &names, false)?;
                f.write_str("; ")?;
                names.insert(address(graph), names.len());
            }
        }
        write_graph(f, root, &names, false)
    }
}

impl fmt::Debug for Expr<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Expr({self}; {} rules)", self.rules)
    }
}

/// The numbers of the graphs that have names.
type Names = HashMap<*const (), usize>;

fn address(graph: &Arc<Graph<'_>>) -> *const () {
    Arc::as_ptr(graph).cast()
}

/// The graphs of an expression, each once and after its parts.
struct Graphs<'b, 'a> {
    graphs: Vec<&'b Arc<Graph<'a>>>,
    /// How often each is used.
    uses: HashMap<*const (), usize>,
    /// How many operations there are.
    nodes: usize,
}

impl<'b, 'a> Graphs<'b, 'a> {
    fn of(root: &'b Arc<Graph<'a>>) -> Graphs<'b, 'a> {
        let mut all = Graphs { graphs: Vec::new(), uses: HashMap::new(), nodes: 0 };
        // A graph is taken twice: first its parts are pushed on top of it, then, when they are done, it is added
        // itself.
        let mut waiting = vec![(root, false)];
        while let Some((graph, is_done)) = waiting.pop() {
            if is_done {
                all.graphs.push(graph);
                continue;
            }
            let uses = all.uses.entry(address(graph)).or_insert(0);
            *uses += 1;
            if *uses == 1 {
                all.nodes += graph.nodes.len();
                waiting.push((graph, true));
                let arguments = graph.nodes.iter().flat_map(|node| graph.arguments(node));
                waiting.extend(arguments.rev().filter_map(|argument| match argument {
                    Argument::Part(part) => Some((part, false)),
                    _ => None,
                }));
            }
        }
        all
    }
}

/// Writes the result of a graph, by its name if it has one.
fn write_graph(
    f: &mut fmt::Formatter<'_>,
    graph: &Arc<Graph<'_>>,
    names: &Names,
    in_parentheses: bool,
) -> fmt::Result {
    match (names.get(&address(graph)), graph.nodes.last()) {
        (Some(name), _) => write!(f, "t{name}"),
        (None, Some(node)) => write_node(f, graph, node, names, in_parentheses),
        (None, None) => Ok(()),
    }
}

fn write_argument(
    f: &mut fmt::Formatter<'_>,
    graph: &Graph<'_>,
    argument: Argument<'_, '_>,
    names: &Names,
    in_parentheses: bool,
) -> fmt::Result {
    match argument {
        Argument::Input(operand) => write_input(f, operand),
        Argument::Node(index) => write_node(f, graph, &graph.nodes[index], names, in_parentheses),
        Argument::Part(part) => write_graph(f, part, names, in_parentheses),
    }
}

fn write_input(f: &mut fmt::Formatter<'_>, operand: &Operand<'_>) -> fmt::Result {
    match operand.source() {
        Ok(source) => write_source(f, source),
        Err(scalar) => write!(f, "{scalar}"),
    }
}

fn write_source(f: &mut fmt::Formatter<'_>, source: InMemory<'_>) -> fmt::Result {
    write!(f, "{}{:?}", source.dtype(), source.shape())
}

fn write_node(
    f: &mut fmt::Formatter<'_>,
    graph: &Graph<'_>,
    node: &Node,
    names: &Names,
    in_parentheses: bool,
) -> fmt::Result {
    if let Operation::Binary(op) = node.operation
        && let Some(symbol) = symbol(op)
    {
        let (open, close) = if in_parentheses { ("(", ")") } else { ("", "") };
        f.write_str(open)?;
        for (place, argument) in graph.arguments(node).enumerate() {
            if place > 0 {
                write!(f, " {symbol} ")?;
            }
            write_argument(f, graph, argument, names, true)?;
        }
        return f.write_str(close);
    }
    let reduction = match node.operation {
        Operation::Reduce(_, arguments) => graph.reduce_arguments(arguments),
        _ => None,
    };
    let suffix = if reduction.is_some_and(|it| it.keepdims) { "_keepdims" } else { "" };
    write!(f, "{}{suffix}(", graph.name(node))?;
    for (place, argument) in graph.arguments(node).enumerate() {
        f.write_str(if place == 0 { "" } else { ", " })?;
        write_argument(f, graph, argument, names, false)?;
    }
    match (node.operation, reduction) {
        (
            Operation::Cast(dtype) | Operation::CastSaturating(dtype) | Operation::Bitcast(dtype),
            _,
        ) => write!(f, ", {dtype})"),
        (Operation::View(view), _) => {
            let arguments = graph.view(view).map_or("", |view| &view.arguments);
            write!(f, ", {arguments})")
        }
        (_, Some(reduction)) if !reduction.axes.is_all() => write!(f, ", {})", reduction.axes),
        _ => f.write_str(")"),
    }
}

/// Returns the operator of an operation that has one.
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
        let e = ((x.expr().abs() - 0.5).maximum(0) * 2).copysign(&x).cast(DType::F16).mean(0);
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
