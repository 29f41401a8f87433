import { createHash } from 'node:crypto'
import { ASSERTION_ALGORITHMS, durationInWords, numberInWords, RULES } from '@plainpath/domain'
import { OAuthError } from '../openapi/errors.ts'
import { CLIENT_ASSERTION_TYPE } from '../operations/oauth.ts'
import { formatExampleTime } from '../operations/operation.ts'
import { operations } from '../operations/operations.ts'
import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import {
  EXAMPLE_BASIC_HEADER,
  formatErrorExchange,
  formatExchange,
  formatJson,
  parseExample,
} from './exchange.ts'

const getTemplateUrl = (name: string) => new URL(`./${name}`, import.meta.url)

/** Fills in a shell command that stores a Node program. The program creates a key, and signs assertions and proofs with it. */
const fillSignCommand = readTemplate(getTemplateUrl('sign.template.txt'), ['urls'])

const EXAMPLE_ID = 'https://agent.example.org/plainpath-client.json'
const NONCE = 'q2Xn7vJ4tBz8Lw1Rk5Yd0Fh3Sg6Mp9Uc2Ae7Ti4Ox1V'
/** Placeholders for JWTs that the reader signs. */
const ASSERTION_PLACEHOLDER = '<assertion>'
const PROOF_PLACEHOLDER = '<proof>'

/** Returns the Unix time, in seconds, of an example time. */
const getExampleSeconds = (ms = 0) => Date.parse(formatExampleTime(ms)) / 1000

const fillDomain = readTemplate(
  getTemplateUrl('domain.template.md'),
  ['urls', 'sign', 'document', 'assertion', 'token', 'invalidClientPage'],
  {
    exampleId: EXAMPLE_ID,
    shortest: durationInWords('minute', RULES.documentShortestMs),
    longest: durationInWords('day', RULES.documentLongestMs),
    usual: durationInWords('hour', RULES.documentDefaultMs),
    failure: durationInWords('minute', RULES.documentFailureMs),
    assertionType: CLIENT_ASSERTION_TYPE,
    agentKeys: numberInWords(RULES.agentKeys),
  },
)

/** Formats `/auth/domain.md`, for unregistered agents whose client id is the URL of their metadata document. */
export function formatDomainMd(urls: ServiceUrls): string {
  const { createToken } = operations
  const jwk = getExampleKey(urls)
  return fillDomain({
    urls,
    sign: fillSignCommand({ urls }).trim(),
    document: formatJson({
      client_id: EXAMPLE_ID,
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...jwk, kid: '2026-11' }] },
    }),
    assertion: formatJson({
      header: { alg: 'ES256', kid: '2026-11' },
      claims: {
        iss: EXAMPLE_ID,
        sub: EXAMPLE_ID,
        aud: urls.origin,
        iat: getExampleSeconds(),
        exp: getExampleSeconds(60_000),
        jti: 'b1c7e1f0-5a53-4d0e-9a51-2f6d3c1e8a77',
      },
    }),
    token: formatExchange(createToken, urls, {
      overrides: { client_assertion_type: CLIENT_ASSERTION_TYPE, client_assertion: ASSERTION_PLACEHOLDER },
    }),
    invalidClientPage: urls.problem('invalid-client'),
  })
}

const fillDpop = readTemplate(
  getTemplateUrl('dpop.template.md'),
  ['urls', 'sign', 'firstProof', 'needsNonce', 'proof', 'token', 'apiProof', 'read', 'unlock'],
  {
    algorithms: ASSERTION_ALGORITHMS.map((name) => `\`${name}\``).join(', '),
    proofLifetime: durationInWords('minute', RULES.dpopProofMs),
  },
)

/** Formats `/auth/dpop.md`, which explains how an agent gets and uses key-bound tokens. */
export function formatDpopMd(urls: ServiceUrls): string {
  const { createToken, listGuides, deleteDpopRequiredScopes } = operations
  const jwk = getExampleKey(urls)
  const token = parseExample(createToken.responses[200], createToken.responseDocs[200], urls)
  const formatProof = (claims: object) =>
    formatJson({
      header: { typ: 'dpop+jwt', alg: 'ES256', jwk },
      claims: { jti: '4e9b0c1d-7a2f-4c55-8d3e-61f0a9b27c48', iat: getExampleSeconds(), ...claims },
    })
  const tokenRequest = { htm: 'POST', htu: urls.token }
  const missingNonceError = OAuthError.parse({
    error: 'use_dpop_nonce',
    error_description:
      'The proof has no nonce, or one that this server did not issue within the last minutes. No token was issued. ' +
      'Make a new proof whose claim nonce is the value of the DPoP-Nonce header of this response, and send the request again.',
    error_uri: urls.problem('use-dpop-nonce'),
    code: 'use-dpop-nonce',
  })
  return fillDpop({
    urls,
    sign: fillSignCommand({ urls }).trim(),
    firstProof: formatProof(tokenRequest),
    needsNonce: formatErrorExchange(createToken, urls, {
      headers: { ...EXAMPLE_BASIC_HEADER, DPoP: PROOF_PLACEHOLDER },
      error: missingNonceError,
      responseHeaders: { 'DPoP-Nonce': NONCE },
    }),
    proof: formatProof({ ...tokenRequest, nonce: NONCE }),
    token: formatExchange(createToken, urls, {
      headers: { ...EXAMPLE_BASIC_HEADER, DPoP: PROOF_PLACEHOLDER },
      createResponseBody: () => ({ ...token, token_type: 'DPoP' }),
    }),
    apiProof: formatProof({
      htm: 'GET',
      htu: `${urls.base}/guides`,
      ath: createHash('sha256').update(token.access_token).digest('base64url'),
    }),
    read: formatExchange(listGuides, urls, {
      headers: { Authorization: `DPoP ${token.access_token}`, DPoP: PROOF_PLACEHOLDER },
    }),
    unlock: formatExchange(deleteDpopRequiredScopes, urls, { headers: EXAMPLE_BASIC_HEADER }),
  })
}

/** Returns the public key of the examples as a JWK with only the members that a proof needs. */
function getExampleKey(urls: ServiceUrls): object {
  const { replaceAgentKeys } = operations
  const { jwks } = parseExample(replaceAgentKeys.responses[200], replaceAgentKeys.responseDocs[200], urls)
  const { kty, crv, x, y } = jwks?.keys[0] ?? {}
  return { kty, crv, x, y }
}
