import { ASSERTION_ALGORITHMS, durationInWords, numberInWords, RULES } from '@plainpath/domain'
import { OAuthError } from '../openapi/errors.ts'
import { CLIENT_ASSERTION_TYPE } from '../operations/oauth.ts'
import { exampleTime } from '../operations/operation.ts'
import { operations } from '../operations/operations.ts'
import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { BASIC, exchange, findExample, pretty, refusal } from './exchange.ts'

const file = (name: string) => new URL(`./${name}`, import.meta.url)

/** A program for Node, in a command that stores it, which makes a key and signs assertions and proofs with it. */
const fillSign = readTemplate(file('sign.template.txt'), ['urls'])

const EXAMPLE_ID = 'https://agent.example.org/plainpath-client.json'
const NONCE = 'q2Xn7vJ4tBz8Lw1Rk5Yd0Fh3Sg6Mp9Uc2Ae7Ti4Ox1V'
/** Stand for JWTs that the reader signs. */
const ASSERTION = '<assertion>'
const PROOF = '<proof>'

const exampleSeconds = (ms = 0) => Date.parse(exampleTime(ms)) / 1000

const fillDomain = readTemplate(
  file('domain.template.md'),
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

/** `/auth/domain.md`: how an agent is known by the URL of its document, without registration. */
export function domainMd(urls: ServiceUrls): string {
  const { createToken } = operations
  const jwk = exampleKey(urls)
  return fillDomain({
    urls,
    sign: fillSign({ urls }).trim(),
    document: pretty({
      client_id: EXAMPLE_ID,
      grant_types: ['client_credentials'],
      token_endpoint_auth_method: 'private_key_jwt',
      jwks: { keys: [{ ...jwk, kid: '2026-11' }] },
    }),
    assertion: pretty({
      header: { alg: 'ES256', kid: '2026-11' },
      claims: {
        iss: EXAMPLE_ID,
        sub: EXAMPLE_ID,
        aud: urls.origin,
        iat: exampleSeconds(),
        exp: exampleSeconds(60_000),
        jti: 'b1c7e1f0-5a53-4d0e-9a51-2f6d3c1e8a77',
      },
    }),
    token: exchange(createToken, urls, {
      with: { client_assertion_type: CLIENT_ASSERTION_TYPE, client_assertion: ASSERTION },
    }),
    invalidClientPage: urls.problem('invalid-client'),
  })
}

const fillDpop = readTemplate(
  file('dpop.template.md'),
  ['urls', 'sign', 'firstProof', 'needsNonce', 'proof', 'token', 'apiProof', 'read', 'unlock'],
  {
    algorithms: ASSERTION_ALGORITHMS.map((name) => `\`${name}\``).join(', '),
    proofLasts: durationInWords('minute', RULES.dpopProofMs),
  },
)

/** `/auth/dpop.md`: how an agent gets and uses tokens that are bound to a key. */
export function dpopMd(urls: ServiceUrls): string {
  const { createToken, listGuides, deleteDpopRequiredScopes } = operations
  const jwk = exampleKey(urls)
  const token = findExample(createToken.responses[200], createToken.outcomes[200], urls)
  const proof = (claims: object) =>
    pretty({
      header: { typ: 'dpop+jwt', alg: 'ES256', jwk },
      claims: { jti: '4e9b0c1d-7a2f-4c55-8d3e-61f0a9b27c48', iat: exampleSeconds(), ...claims },
    })
  const tokenRequest = { htm: 'POST', htu: urls.token }
  const needsNonce = OAuthError.parse({
    error: 'use_dpop_nonce',
    error_description:
      'The proof has no nonce, or one that this server did not issue within the last minutes. No token was issued. ' +
      'Make a new proof whose claim nonce is the value of the DPoP-Nonce header of this response, and send the request again.',
    error_uri: urls.problem('use-dpop-nonce'),
    code: 'use-dpop-nonce',
  })
  return fillDpop({
    urls,
    sign: fillSign({ urls }).trim(),
    firstProof: proof(tokenRequest),
    needsNonce: refusal(createToken, urls, {
      headers: { ...BASIC, DPoP: PROOF },
      error: needsNonce,
      responseHeaders: { 'DPoP-Nonce': NONCE },
    }),
    proof: proof({ ...tokenRequest, nonce: NONCE }),
    token: exchange(createToken, urls, {
      headers: { ...BASIC, DPoP: PROOF },
      response: () => ({ ...token, token_type: 'DPoP' }),
    }),
    apiProof: proof({
      htm: 'GET',
      htu: `${urls.base}/guides`,
      ath: 'fUHyO2r2Z3DZ53EsNrWBb0xWXoaNy59IiKCAqksmQEo',
    }),
    read: exchange(listGuides, urls, {
      headers: { Authorization: `DPoP ${token.access_token}`, DPoP: PROOF },
    }),
    unlock: exchange(deleteDpopRequiredScopes, urls, { headers: BASIC }),
  })
}

/** The public key of the examples, without its name. */
function exampleKey(urls: ServiceUrls): object {
  const { replaceAgentKeys } = operations
  const { jwks } = findExample(replaceAgentKeys.responses[200], replaceAgentKeys.outcomes[200], urls)
  const { kty, crv, x, y } = jwks?.keys[0] ?? {}
  return { kty, crv, x, y }
}
