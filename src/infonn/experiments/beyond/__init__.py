"""Info-NN on a posterior against random queries under the same learner, and against Info-NN as published."""
