"""The methods that S-MDEClust is compared with, each as a pure function on a problem."""
