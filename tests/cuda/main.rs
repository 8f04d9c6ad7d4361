//! The host side of the CUDA backend: which driver calls it makes, in which order, and how it handles their failures.
//! The tests run on the virtual driver, which counts its calls and can make them fail. Without NVRTC the tests are
//! shown as ignored, and the program prints the reason.

#[cfg(all(unix, feature = "dlpack"))]
mod captures;
#[cfg(unix)]
mod cudarc_users;
#[path = "../devices/mod.rs"]
mod devices;
#[cfg(unix)]
mod far;
#[cfg(unix)]
mod fault_fuzz;
#[cfg(unix)]
mod faults;
#[cfg(unix)]
mod generated;
#[cfg(unix)]
mod graphs;
#[cfg(unix)]
mod missing;
#[path = "../model/mod.rs"]
#[allow(unused_imports, reason = "the tests of the model itself are run elsewhere")]
mod model;
#[cfg(unix)]
mod order;
#[cfg(unix)]
mod setup;
#[cfg(unix)]
mod tiles;
#[cfg(unix)]
#[macro_use]
#[path = "../devices/trials.rs"]
mod trials;
#[cfg(unix)]
mod virtual_driver;

#[cfg(unix)]
fn main() {
    let arguments = libtest_mimic::Arguments::from_args();
    let libraries = devices::libraries::libraries();
    let ignored = libraries.is_err();
    if let Err(reason) = libraries {
        eprintln!("cuda: ignored, {reason}");
    }
    let mut tests = trials! { ignored
        captures {
            #[cfg(feature = "dlpack")]
            memory_is_returned_while_another_stream_is_captured
            #[cfg(feature = "dlpack")]
            memory_is_kept_while_its_own_stream_is_captured
            #[cfg(feature = "dlpack")]
            memory_is_kept_while_the_driver_refuses_to_wait
            #[cfg(feature = "dlpack")]
            memory_is_freed_after_the_captures_of_its_streams
            #[cfg(feature = "dlpack")]
            copies_leave_captures_alone
            #[cfg(feature = "dlpack")]
            describing_an_expression_leaves_captures_alone
            #[cfg(feature = "dlpack")]
            memory_is_trimmed_while_another_stream_is_captured
            #[cfg(feature = "dlpack")]
            a_device_whose_stream_is_captured_is_not_waited_for
            #[cfg(feature = "dlpack")]
            an_export_waits_for_a_reader_that_compiles_its_kernel
        }
        cudarc_users {
            slices_become_tensors_and_slices_again
            tensors_of_ours_become_slices
            a_slice_comes_after_the_work_of_every_stream
            views_are_lent_and_go_back
            a_warm_call_can_be_captured
            a_cold_call_leaves_a_capture_alone
            a_context_of_theirs_is_a_device
            a_per_thread_stream_is_that_of_its_thread
            slices_of_a_per_thread_stream_are_lent
            a_raw_stream_is_a_device
            a_device_outlives_the_raw_stream_of_its_context
            what_is_lent_goes_back_whatever_was_put_in_its_place
            cudarcs_other_streams_wait_for_a_slice_that_was_a_tensor
            an_order_that_cudarc_cannot_have_is_an_error
            bools_that_are_none_do_not_reach_the_cpu
            a_stream_may_outlive_its_device
            a_loan_that_cudarc_cannot_record_is_over_when_it_ends
            a_slice_that_cannot_be_made_leaves_nothing_behind
            views_are_aligned_to_whole_elements
            a_loan_that_cannot_end_ends_the_process
        }
        far {
            elements_further_apart_than_32_bits_count
            gradients_of_more_elements_than_one_launch_counts
            more_elements_than_32_bits_count
        }
        fault_fuzz {
            programs_whose_calls_fail
            programs_without_pools_whose_calls_fail
            threads_whose_calls_fail
        }
        faults {
            every_call_may_fail
            every_call_that_sets_a_device_up_may_fail
            a_reader_is_not_overtaken_because_another_write_was_refused
            what_is_dropped_while_the_driver_refuses_is_freed
            a_destination_survives_a_failed_call
            every_kernel_shape_can_be_forced
        }
        generated {
            other_numbers_sizes_and_strides_compile_nothing
            another_dtype_class_or_step_is_another_kernel
            the_kernels_that_are_shown_are_those_that_run
            views_of_views_make_a_small_kernel
            every_driver_call_of_a_first_run_may_fail
            every_compiler_call_of_a_first_run_may_fail
        }
        graphs {
            a_graph_is_replayed
            scans_and_look_ups_are_replayed
            what_a_graph_cannot_hold_is_refused
            every_call_of_a_capture_may_fail
            drops_and_other_streams_leave_a_capture_alone
            the_threads_context_is_restored
        }
        missing {
            no_device
            a_device_that_is_too_old
            a_device_that_is_not_there
            no_nvrtc
            the_stub_of_a_toolkit
            a_driver_that_does_not_start_and_then_does
        }
        order {
            one_stream_needs_no_events_and_no_waiting
            streams_that_meet_are_put_in_order
            memory_is_freed_after_its_last_use_on_any_stream
            tensors_work_and_die_on_any_thread
            devices_copy_to_each_other
            large_copies_go_through_pinned_memory_in_parts
            downloads_are_waited_for_later
            devices_that_can_reach_each_other_do
            nothing_is_launched_for_nothing
            what_was_uploaded_may_change_at_once
            a_thread_that_has_never_seen_the_device_launches
            a_stream_per_request_over_the_same_memory
            #[cfg(feature = "ndarray")]
            arrays_go_to_where_the_destination_is
        }
        setup {
            without_memory_pools
            machine_code_for_a_driver_older_than_nvrtc
            machine_code_comes_first_and_is_refused_once
            both_refusals_are_in_the_error
            memory_that_runs_out_while_kernels_are_loaded
            memory_that_runs_out
            memory_that_runs_out_elsewhere
            a_driver_that_makes_no_pool
            other_libraries_get_what_is_trimmed
            kernels_are_compiled_once_per_machine
        }
        tiles {
            sizes_around_those_of_tiles
            dimensions_in_every_order
            operands_beside_a_turned_one
            destinations_of_turned_operands
            wide_indices_in_tiles
        }
    };
    let ignored = ignored || !setup::has_both_nvrtc();
    tests.extend(trials! { ignored
        setup {
            a_driver_for_cuda_12_with_nvrtc_13
            nvrtc_is_of_the_drivers_version
        }
    });
    libtest_mimic::run(&arguments, tests).exit();
}

/// The virtual driver supports Unix only.
#[cfg(not(unix))]
fn main() {
    eprintln!("cuda: nothing is tested, the virtual driver is for Unix");
}
