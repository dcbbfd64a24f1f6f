"""What came of a simulation, in a sentence."""

from __future__ import annotations

from arena.simulation.ranks import RankSimulation

__all__ = ["simulation_verdict"]


def simulation_verdict(result: RankSimulation) -> str:
    """Say how often the best wins in the largest competition, and with how many rows it would."""
    rows, count = max(result.settings.test_rows), max(result.settings.competitors)
    won = next(
        one for one in result.win_frequency if (one.test_rows, one.competitors) == (rows, count)
    )
    said = (
        f"With {rows:,} test rows and {count:,} competitors the truly best one wins "
        f"{won.frequency:.0%} of the time (95 %: {won.low:.0%} to {won.high:.0%})."
    )
    needed = next(
        one for one in result.rows_needed if (one.competitors, one.probability) == (count, 0.9)
    )
    if not needed.rows:
        return f"{said} Fewer rows would be enough for that."
    about = f"About {needed.rows:,.0f} rows would be needed for it to win in 90 %"
    if needed.rows > rows:
        about += f": beyond what was simulated, so extrapolated from tests of {rows:,} rows"
    return f"{said} {about}."
