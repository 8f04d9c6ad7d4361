//! The example, run.

mod quantized_linear {
    include!("../examples/quantized_linear.rs");

    #[test]
    fn the_model_works() {
        main().expect("the example must run");
    }
}
