"""Certificates that are made for one test: an authority, and what it signs."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey

DAY = datetime.timedelta(days=1)


class Authority:
    """Signs certificates, which are written into `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.file = str(folder / "authority.pem")
        self.certificate = self._made("authority", self.key, is_authority=True)
        Path(self.file).write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def signed(self, name: str, host: str = "127.0.0.1", from_day: int = -1, to_day: int = 1) -> str:
        """The file of a certificate for `host`, an IP address, with its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._made(name, key, host, from_day, to_day)
        path = self.folder / f"{name}.pem"
        path.write_bytes(_private(key) + certificate.public_bytes(serialization.Encoding.PEM))
        return str(path)

    def _made(
        self,
        name: str,
        key: EllipticCurvePrivateKey,
        host: str = "127.0.0.1",
        from_day: int = -1,
        to_day: int = 1,
        *,
        is_authority: bool = False,
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "authority")])
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .issuer_name(issuer)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now + from_day * DAY)
            .not_valid_after(now + to_day * DAY)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(host))]), critical=False)
            .add_extension(x509.BasicConstraints(ca=is_authority, path_length=None), critical=True)
        )
        return builder.sign(self.key, hashes.SHA256())


def server_context(file: str, client_authority: str | None = None) -> ssl.SSLContext:
    """What a server shows `file` with; with an authority it wants a certificate of the client."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    if client_authority is not None:
        context.verify_mode = ssl.CERT_REQUIRED
        context.load_verify_locations(client_authority)
    return context


def _private(key: EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
