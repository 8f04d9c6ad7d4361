//! Few elements: the steps of a request one after another, each by its loop from register to register.
//!
//! `walk` would come to the same loops; but to translate a program to a script, and to cut loops that have nothing to
//! cut, would take longer than the work.

use std::mem::MaybeUninit;

use super::address;
use super::direct::single;
use super::settings::Settings;
use super::transfer::splat;
use crate::plan::OUT;
use crate::program::{Input, Request, Value};
use crate::storage::Access;

/// The most elements.
const ELEMENTS: usize = 32;

/// The most inputs, and the most steps.
const VALUES: usize = 8;

/// Room for a value of every element, whatever its dtype.
#[repr(align(64))]
struct Register(MaybeUninit<[u8; 16 * ELEMENTS]>);

/// Runs a request if it is so small, and every step is a single loop; says whether it was. If not, nothing has been
/// written.
pub(super) fn run(request: &Request<'_>, access: &Access<'_>, settings: &Settings) -> bool {
    let (plan, program) = (request.plan, request.program);
    let (inputs, steps) = (program.inputs(), program.steps());
    if plan.len > ELEMENTS
        || plan.rank > 1
        || request.masked
        || request.reduction.is_some()
        || inputs.len() > VALUES
        || steps.len() > VALUES
        || size_of::<Register>() >= settings.parallel_bytes
    {
        return false;
    }
    let is_one = plan.len == 1;
    let Some(last) = steps.len().checked_sub(1) else { return false };
    if program.result() != Value::Step(last as u16) || !(is_one || plan.slots[OUT].strides[0] == 1)
    {
        return false;
    }
    let mut registers = [const { Register(MaybeUninit::uninit()) }; 2 * VALUES];
    // The first registers are for inputs that stand still, the others for results.
    let mut register = |index: usize| -> *mut u8 { registers[index].0.as_mut_ptr().cast() };
    let mut values = [std::ptr::null::<u8>(); VALUES];
    for (index, input) in inputs.iter().enumerate() {
        let (address, stride) = match input {
            Input::Number(_, number) => (number.0.as_ptr(), 0),
            Input::Memory(dtype, slot) => {
                if access.is_written(*slot) {
                    return false;
                }
                let offset = plan.slots[*slot].offset * dtype.size();
                (address(access, *slot, offset).cast_const(), plan.slots[*slot].strides[0])
            }
        };
        values[index] = match stride {
            _ if is_one => address,
            1 => address,
            0 => {
                let repeated = register(index);
                // SAFETY: there is an element at the address, and a register holds as many as there are.
                unsafe { splat(input.dtype().size(), address, plan.len, repeated) };
                repeated.cast_const()
            }
            _ => return false,
        };
    }
    for (index, step) in steps.iter().enumerate() {
        let Some((kernels, swapped)) = single(step) else { return false };
        let mut args = [std::ptr::null::<u8>(); 3];
        for (arg, value) in args.iter_mut().zip(step.arguments()) {
            *arg = match value {
                Value::Input(index) => values[usize::from(*index)],
                Value::Step(index) => register(VALUES + usize::from(*index)).cast_const(),
            };
        }
        if swapped {
            args.swap(0, 1);
        }
        let target = match index {
            _ if index == last => address(access, OUT, plan.slots[OUT].offset * request.out.size()),
            _ => register(VALUES + index),
        };
        // SAFETY: the plan was made from layouts that lie inside their storages, whose locks are held; these hold
        // elements of the dtypes that the program names, and were written in full before they were shared. All
        // arguments lie side by side, steps have earlier ones for arguments, and the target is a register of its own
        // or the destination, which is dense and apart from all inputs.
        unsafe { kernels.all[settings.level as usize](&args, target, plan.len) };
    }
    true
}
