"""Exact solutions: lower bounds by semidefinite relaxation, branch and cut, and certificates."""

from smdeclust.exact.certificate import Certificate, InvalidCertificateError
from smdeclust.exact.certify import certify
from smdeclust.exact.verify import VerifiedBound, verify

__all__ = ["Certificate", "InvalidCertificateError", "VerifiedBound", "certify", "verify"]
