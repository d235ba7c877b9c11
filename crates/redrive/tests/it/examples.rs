//! The examples, run: what people copy works.

macro_rules! examples {
    ($($name:ident = $path:literal),+ $(,)?) => {$(
        #[path = $path]
        #[allow(dead_code, unreachable_pub, clippy::print_stdout, reason = "an example, as people see it")]
        mod $name;

        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            $name::run().await.unwrap();
        }
    )+};
}

examples! {
    fan_out = "../../examples/fan_out.rs",
    hello = "../../examples/hello.rs",
    mailer = "../../examples/mailer.rs",
    orders_axum = "../../examples/orders_axum.rs",
    projector = "../../examples/projector.rs",
}
