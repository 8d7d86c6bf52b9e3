"""The worker: claims, leases and settlements over handler processes."""
