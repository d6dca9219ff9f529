"""An authority of the test's own, and a server's certificate that it signed."""

from __future__ import annotations

import datetime
import hashlib
import ipaddress
import ssl
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["file_name_of", "private_authority"]


def private_authority(directory: Path) -> tuple[Path, ssl.SSLContext]:
    """Return the file of the authority, and the context of a server on loopback."""
    authority_key, server_key = (
        ec.generate_private_key(ec.SECP256R1()),
        ec.generate_private_key(ec.SECP256R1()),
    )
    authority = _name("an authority")
    usage = x509.KeyUsage(*(False, False, False, False, False, True, True, False, False))
    trusted = (
        _builder(authority, authority, authority_key)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    addresses = x509.SubjectAlternativeName(
        [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    )
    key_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    signed = (
        _builder(_name("localhost"), authority, server_key)
        .add_extension(addresses, critical=False)
        .add_extension(key_id, critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    file, pair = directory / "authority.pem", directory / "server.pem"
    file.write_bytes(trusted.public_bytes(serialization.Encoding.PEM))
    key = server_key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    pair.write_bytes(key + signed.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pair)
    return file, context


def file_name_of(certificate: Path) -> str:
    """Return the file name of a certificate in a directory of authorities: a digest of its subject."""
    name = x509.load_pem_x509_certificate(certificate.read_bytes()).subject.public_bytes()
    digest = hashlib.sha1(name[2:], usedforsecurity=False).digest()  # without the head of the sequence
    return f"{int.from_bytes(digest[:4], 'little'):08x}.0"


def _name(word: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, word)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePrivateKey
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    )
