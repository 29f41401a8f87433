"""Gets two tokens and revokes the second, with requests-oauthlib as the client.

Usage: requests-oauthlib.py ORIGIN (basic | post | key-with-kid | key-without-kid)
"""

import json
import sys
import time
import uuid

import jwt
import requests
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from jwt.utils import base64url_encode
from oauthlib.oauth2 import BackendApplicationClient
from requests.auth import HTTPBasicAuth
from requests_oauthlib import OAuth2Session

ORIGIN, METHOD = sys.argv[1:]
TIMEOUT_SECONDS = 20


def post_registration(body):
    response = requests.post(f"{ORIGIN}/api/agent/register", json=body, timeout=TIMEOUT_SECONDS)
    if not response.ok:
        raise SystemExit(f"{response.status_code} {response.text}")
    return response.json()


def to_jwk(key, kid):
    """Returns a public key as a JWK. Debian's PyJWT omits leading zero bytes, which RFC 7518 §6.2.1.2 requires."""
    jwk = json.loads(ECAlgorithm.to_jwk(key.public_key()))
    numbers = key.public_key().public_numbers()
    coordinates = {"x": numbers.x, "y": numbers.y}
    padded = {name: base64url_encode(number.to_bytes(32, "big")).decode() for name, number in coordinates.items()}
    return {**jwk, **padded, "kid": kid}


def register_agent():
    """Registers an agent. Returns its id, and a function that creates the arguments that authenticate a request."""
    if METHOD in ("basic", "post"):
        agent = post_registration({})
        client_id, secret = agent["client_id"], agent["client_secret"]
        if METHOD == "basic":
            return client_id, lambda: {"auth": HTTPBasicAuth(client_id, secret)}
        return client_id, lambda: {"include_client_id": True, "client_secret": secret}

    # The agent is changing its key. It has two keys, and signs with the second.
    old, current = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    keys = [to_jwk(old, "old"), to_jwk(current, "current")]
    client_id = post_registration({"jwks": {"keys": keys}})["client_id"]

    def create_assertion():
        now = int(time.time())
        claims = {
            "iss": client_id,
            "sub": client_id,
            "aud": ORIGIN,
            "iat": now,
            "exp": now + 60,
            "jti": str(uuid.uuid4()),
        }
        header = {"kid": "current"} if METHOD == "key-with-kid" else {}
        return {
            "include_client_id": True,
            "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
            "client_assertion": jwt.encode(claims, current, algorithm="ES256", headers=header),
        }

    return client_id, create_assertion


def read_guides(token):
    session = OAuth2Session(token=token)
    return session.get(f"{ORIGIN}/api/guides", timeout=TIMEOUT_SECONDS).status_code


client_id, authenticate = register_agent()
client = BackendApplicationClient(client_id=client_id)
session = OAuth2Session(client=client)
first_token, second_token = (
    dict(session.fetch_token(f"{ORIGIN}/oauth/token", timeout=TIMEOUT_SECONDS, **authenticate())) for _ in range(2)
)
statuses_before = [read_guides(first_token), read_guides(second_token)]

arguments = authenticate()
auth = arguments.pop("auth", None)
if arguments.pop("include_client_id", False):
    arguments["client_id"] = client_id
url, headers, body = client.prepare_token_revocation_request(
    f"{ORIGIN}/oauth/revoke", second_token["access_token"], **arguments
)
revocation = requests.post(url, data=body, headers=headers, auth=auth, timeout=TIMEOUT_SECONDS)

print(
    json.dumps(
        {
            "scope": sorted(first_token["scope"]),
            "read": statuses_before,
            "revocation": [revocation.status_code, revocation.json()],
            "readAfterRevocation": [read_guides(first_token), read_guides(second_token)],
        }
    )
)
