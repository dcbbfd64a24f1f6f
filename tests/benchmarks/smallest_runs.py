"""Options with which each benchmark does as little as it can."""

SMALLEST = {
    "bench_attack": "--scale 0.01 --runs 1",
    "bench_auc_ranks": "--scale 0.01 --rows 1000",
    "bench_bayes_error": "--scale 0.001",
    "bench_bytes": "--scale 0.002",
    "bench_combinations": "--submissions 8 --rows 400 --resamples 20",
    "bench_commands": "--submissions 10,20 --teams 5 --rows 40 --until audit",
    "bench_csv": "--scale 0.001 --repeats 1",
    "bench_engines": "--tasks 4 --seconds 0.05 --repeats 1",
    "bench_finalize": "--teams 2,4 --rows 100 --metric log_loss",
    "bench_foreign": "--scale 0.002 --workers 1 --submissions 2 --repeats 1 --together",
    "bench_growth": "--submissions 10 --teams 5 --team 1 --repeats 0",
    "bench_intake": "--scale 0.01",
    "bench_metrics": "--rows 40 --resamples 12",
    "bench_objects": "--scale 0.01",
    "bench_organiser": "--scale 0.02 --repeats 1",
    "bench_pointwise_ranks": "--scale 0.01 --rows 1000",
    "bench_rank_intervals": "--scale 0.01",
    "bench_release": "--scale 0.01 --repeats 1 --metric accuracy",
    "bench_report": "--teams 10 --repeats 1",
    "bench_serve": "--seconds 1 --kills 0 --rows 200",
    "bench_simulate": "--rows 200 --models 1 --runs 1",
    "bench_slow_clients": "--clients 30 --most-seconds 600",
    "bench_sota": "--scale 0.01 --repeats 1",
    "bench_start": "--repeats 1",
    "bench_store": "--scale 0.01",
    "bench_submit": "--scale 0.01",
    "bench_team_training": "--rounds 1 --runs 1",
}
"""Options of the smallest run of each script.

That of bench_slow_clients fails if a slow client is not closed or a read beside them fails. It
measures how soon; here a busy machine may take longer.
"""
