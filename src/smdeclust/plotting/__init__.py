"""Pictures (matplotlib): each function takes ``ax=None`` and returns the Axes.

Not imported by ``import smdeclust``, so that matplotlib is loaded only where pictures are wanted.
"""

from smdeclust.extras import optional

with optional("A picture"):
    from smdeclust.plotting.clusters import plot_clusters, plot_margins, point_margins
    from smdeclust.plotting.comparison import (
        PerformanceProfile,
        performance_profile,
        plot_comparison,
        plot_performance_profile,
    )
    from smdeclust.plotting.constraint_graph import plot_constraint_graph
    from smdeclust.plotting.summaries import (
        plot_choice,
        plot_convergence,
        plot_diversity,
        plot_feature_weights,
        plot_sizes,
    )

__all__ = [
    "PerformanceProfile",
    "performance_profile",
    "plot_choice",
    "plot_clusters",
    "plot_comparison",
    "plot_constraint_graph",
    "plot_convergence",
    "plot_diversity",
    "plot_feature_weights",
    "plot_margins",
    "plot_performance_profile",
    "plot_sizes",
    "point_margins",
]
