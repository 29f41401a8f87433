import { ASSERTION_ALGORITHMS, MAX_AGENT_KEYS } from '@plainpath/domain'
import { CLIENT_ASSERTION_TYPE } from '../operations/oauth.ts'
import { serviceUrls } from '../service-urls.ts'
import type { DocumentConfig } from './document-config.ts'

/** For an agent that keeps a private key instead of a secret. */
export function authMdKeys({ origin }: DocumentConfig): string {
  const urls = serviceUrls(origin)
  return `
## 8. Keys instead of a secret

An agent with a key pair needs no secret (\`private_key_jwt\`). Send the public keys with your registration, one to ${MAX_AGENT_KEYS}, P-256 or Ed25519:

\`\`\`text
POST ${urls.register}
Content-Type: application/json

{"jwks": {"keys": [{"kty": "EC", "crv": "P-256", "x": "…", "y": "…", "kid": "2026-11"}]}}
\`\`\`

The answer has \`token_endpoint_auth_method\` \`private_key_jwt\` and your \`jwks\`, each key with its \`kid\` (the thumbprint of RFC 7638 if you gave none), and no secret. Private keys, symmetric keys, certificates and \`jwks_uri\` are refused.

To change the keys, or to change from a secret to keys, send the whole new set, authenticated as you are now. From the answer on an old key is refused. Within seconds, at most 30, only these keys work: until then ${urls.token} and ${urls.revoke} may still take the secret you had, or not know a new key yet. Tokens that you have live on for their hour. If the answer is lost, try the new key.

\`\`\`text
PUT ${urls.agent}/jwks
Content-Type: application/json

{"keys": [{"kty": "OKP", "crv": "Ed25519", "x": "…"}]}
\`\`\`

Authenticate with an assertion: a JWT (RFC 7523) signed with one of the keys, a new one for each request.

- Header: \`alg\` (${ASSERTION_ALGORITHMS.join(', ')}) and \`kid\` (may be left out if you have one key); \`typ\`, if sent, is \`JWT\` or \`client-authentication+jwt\`. Nothing else.
- \`iss\` and \`sub\`: your \`client_id\`.
- \`aud\`: exactly \`${urls.origin}\`, a string. Not the address of an endpoint, not a list.
- \`exp\`: whole seconds, at most 5 minutes ahead, and at most 5 minutes after \`iat\` if you send that.
- \`jti\`: new each time, up to 256 characters. An assertion is good once, also when its request failed.

At ${urls.token} and ${urls.revoke} the assertion is a form field:

\`\`\`text
POST ${urls.token}
Content-Type: application/x-www-form-urlencoded

grant_type=client_credentials&client_assertion_type=${CLIENT_ASSERTION_TYPE}&client_assertion=eyJ…
\`\`\`

Everywhere else, at ${urls.agent} and below it, there is no form. Send the assertion in a header there, also beside JSON, and without \`Authorization\`:

\`\`\`text
GET ${urls.agent}
Client-Assertion: eyJ…
\`\`\``
}
