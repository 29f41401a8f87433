import { createHash } from 'node:crypto'
import {
  ASSERTION_ALGORITHMS,
  type ContactTopic,
  durationIn,
  durationInWords,
  numberInWords,
  RULES,
  SCOPE_MEANINGS,
  Scope,
} from '@plainpath/domain'
import { JWT_BEARER_GRANT } from '../oauth-metadata.ts'
import { AgentProblem, OAuthError, Problem } from '../openapi/errors.ts'
import { CLIENT_ASSERTION_TYPE } from '../operations/oauth.ts'
import { exampleTime } from '../operations/operation.ts'
import { operations } from '../operations/operations.ts'
import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { AGENT_ERRORS } from './agent-errors.ts'
import { domainMd, dpopMd } from './domain-and-dpop.ts'
import { BASIC, exchange, findExample, pretty, refusal } from './exchange.ts'
import { MARKDOWN_TYPE, parsePath, type ServedDocument } from './served-document.ts'

/** Creates the documents that `/auth.md` links: one for each task beyond getting a token. */
export const authDetails = (urls: ServiceUrls): ServedDocument[] => [
  markdown(urls.authVerifiedEmail, verifiedEmail(urls)),
  markdown(urls.authKeys, keys(urls)),
  markdown(urls.authDomain, domainMd(urls)),
  markdown(urls.authDpop, dpopMd(urls)),
  markdown(urls.authErrors, errors(urls)),
  markdown(urls.authLifetimes, lifetimes(urls)),
]

const markdown = (address: string, content: string): ServedDocument => ({
  path: parsePath(address),
  contentType: MARKDOWN_TYPE,
  content,
})

const template = (name: string) => new URL(`./${name}.template.md`, import.meta.url)

const TOPICS: Readonly<Record<ContactTopic, string>> = {
  question:
    'The person has a question about a guide, or about Plainpath. Staff give information, not legal advice.',
  attorney: 'The person needs an attorney. Staff cannot represent them; the response lists who can.',
  correction: 'A guide or an answer is wrong or out of date.',
  other: 'Anything else.',
}

const fillVerifiedEmail = readTemplate(
  template('verified-email'),
  ['urls', 'begin', 'complete', 'exchange', 'send', 'status', 'withdraw', 'renew', 'end'],
  {
    topics: Object.entries(TOPICS)
      .map(([topic, meaning]) => `| \`${topic}\` | ${meaning} |`)
      .join('\n'),
    codeDigits: numberInWords(RULES.claimCodeDigits),
    codeLasts: durationIn('minute', RULES.claimCodeMs),
    codes: numberInWords(RULES.claimCodes),
    tries: numberInWords(RULES.claimTries),
    linkLasts: durationIn('hour', RULES.claimLinkMs),
    claimMails: numberInWords(RULES.claimMails),
    resendPause: durationIn('minute', RULES.claimResendMs),
    mailsToMailbox: numberInWords(RULES.mailsToMailbox),
    mailLate: durationIn('hour', RULES.dayMailWaitsMs),
    messageCharacters: RULES.messageCharacters,
    handOffTriggers: RULES.handOffTriggers,
    idempotencyLasts: durationIn('hour', RULES.idempotencyMs),
    duplicateLasts: durationIn('hour', RULES.duplicateMessageMs),
    urgentHold: durationInWords('minute', RULES.urgentHoldMs),
    claimLasts: durationIn('day', RULES.claimMs),
    assertionLasts: durationIn('hour', RULES.identityAssertionMs),
  },
)

function verifiedEmail(urls: ServiceUrls): string {
  const { beginClaim, completeClaim, createAssertion, endClaim, createToken } = operations
  const { sendContactMessage, getContactMessage, deleteContactMessage } = operations
  const { responses, outcomes } = createAssertion
  const { identity_assertion: assertion } = findExample(responses[200], outcomes[200], urls)
  const token = findExample(createToken.responses[200], createToken.outcomes[200], urls)
  const bearer = { Authorization: `Bearer ${token.access_token}` }
  const received = findExample(sendContactMessage.responses[202], sendContactMessage.outcomes[202], urls)
  const params = { id: received.id }
  return fillVerifiedEmail({
    urls,
    begin: exchange(beginClaim, urls, { headers: BASIC }),
    complete: exchange(completeClaim, urls, { headers: BASIC }),
    exchange: exchange(createToken, urls, {
      headers: BASIC,
      with: { grant_type: JWT_BEARER_GRANT, assertion },
      response: () => ({ ...token, scope: Scope.options.join(' ') }),
    }),
    send: exchange(sendContactMessage, urls, {
      headers: { ...bearer, 'Idempotency-Key': 'a3f1c2d4-renewal' },
    }),
    status: exchange(getContactMessage, urls, {
      headers: bearer,
      params,
      response: () => ({ id: received.id, status: received.status, heldUntil: received.heldUntil }),
    }),
    withdraw: exchange(deleteContactMessage, urls, { headers: bearer, params }),
    renew: exchange(createAssertion, urls, { headers: BASIC }),
    end: exchange(endClaim, urls, { headers: BASIC }),
  })
}

const fillKeys = readTemplate(
  template('keys'),
  ['urls', 'register', 'assertion', 'token', 'look', 'replace', 'proof', 'addSecret', 'deleteSecret'],
  {
    agentKeys: numberInWords(RULES.agentKeys),
    algorithms: ASSERTION_ALGORITHMS.map((name) => `\`${name}\``).join(', '),
    clientAssertionLasts: durationIn('minute', RULES.clientAssertionMs),
    keyProofLasts: durationIn('minute', RULES.keyProofMs),
    jtiCharacters: RULES.jtiCharacters,
    agentCachedSeconds: RULES.agentCachedMs / 1000,
    oldSecretDays: durationIn('day', RULES.oldSecretMs).replace(/ days?$/, ''),
  },
)

/** Placeholders for JWTs that the reader signs. */
const ASSERTION = '<assertion>'
const PROOF = '<proof>'

/** Computes the thumbprint of a P-256 key (RFC 7638), in base64url. */
const thumbprint = ({ crv, kty, x, y }: Readonly<Record<string, unknown>> = {}) =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')

const exampleSeconds = (ms: number) => Date.parse(exampleTime(ms)) / 1000

function keys(urls: ServiceUrls): string {
  const { registerAgent, replaceAgentKeys, createAgentSecret, deleteAgentSecret, createToken, getAgent } =
    operations
  const agent = findExample(replaceAgentKeys.responses[200], replaceAgentKeys.outcomes[200], urls)
  const { limits: _, ...registered } = agent
  const { secrets } = findExample(createAgentSecret.responses[201], createAgentSecret.outcomes[201], urls)
  const key = agent.jwks?.keys[0]
  const times = { iat: exampleSeconds(0), exp: exampleSeconds(60_000) }
  return fillKeys({
    urls,
    register: exchange(registerAgent, urls, { body: 'keyed', response: () => registered }),
    assertion: pretty({
      header: { alg: key?.alg, kid: key?.kid },
      claims: {
        iss: registered.client_id,
        sub: registered.client_id,
        aud: urls.origin,
        ...times,
        jti: 'b1c7e1f0-5a53-4d0e-9a51-2f6d3c1e8a77',
      },
    }),
    token: exchange(createToken, urls, {
      with: { client_assertion_type: CLIENT_ASSERTION_TYPE, client_assertion: ASSERTION },
    }),
    look: exchange(getAgent, urls, {
      headers: { 'Client-Assertion': ASSERTION },
      response: () => agent,
    }),
    replace: exchange(replaceAgentKeys, urls, {
      headers: { 'Client-Assertion': ASSERTION },
      with: { proof: PROOF },
    }),
    proof: pretty({
      header: { typ: 'jwks-proof+jwt', alg: key?.alg, kid: key?.kid },
      claims: {
        iss: registered.client_id,
        aud: urls.agentKeys,
        ...times,
        jti: '0d2f7a64-93c5-4b8e-b6f1-7c2f1d9e4a10',
        jkts: [thumbprint(key)],
      },
    }),
    addSecret: exchange(createAgentSecret, urls, { headers: BASIC }),
    deleteSecret: exchange(deleteAgentSecret, urls, {
      headers: BASIC,
      params: { id: secrets[0]?.secret_id ?? '' },
    }),
  })
}

const fillErrors = readTemplate(template('errors'), ['urls', 'agentError', 'oauthError', 'problem', 'rows'])

function errors(urls: ServiceUrls): string {
  const { getAgent, createToken, joinWaitlist } = operations
  const request_id = '0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11'
  const refused =
    'Send client_id and client_secret with HTTP Basic, or a client assertion in the header Client-Assertion.'
  const invalidClient = AgentProblem.parse({
    type: urls.problem('invalid-client'),
    title: 'Client authentication failed',
    status: 401,
    detail: refused,
    instance: '/api/agent',
    code: 'invalid-client',
    request_id,
    error: 'invalid_client',
    error_description: refused,
  })
  const invalidScope = OAuthError.parse({
    error: 'invalid_scope',
    error_description:
      'This client can have: guides:read waitlist:write. The grant client_credentials never gives contact:write. ' +
      'A person must first confirm the client by e-mail. Begin with ' +
      `POST ${urls.claim}; the steps are in ${urls.authVerifiedEmail}.`,
    error_uri: urls.problem('invalid-scope'),
    code: 'invalid-scope',
  })
  const mistake = 'must be an e-mail address such as ana@example.org'
  const invalidRequest = Problem.parse({
    type: urls.problem('invalid-request'),
    title: 'The request is not valid',
    status: 400,
    detail: `#/email: ${mistake}.`,
    instance: '/api/waitlist',
    code: 'invalid-request',
    request_id,
    errors: [{ pointer: '#/email', detail: mistake }],
  })
  return fillErrors({
    urls,
    agentError: refusal(getAgent, urls, { error: invalidClient }),
    oauthError: refusal(createToken, urls, {
      headers: BASIC,
      with: { scope: 'contact:write' },
      error: invalidScope,
    }),
    problem: refusal(joinWaitlist, urls, { with: { email: 'ana' }, error: invalidRequest }),
    rows: AGENT_ERRORS.map(
      ({ code, status, error, remedy }) =>
        `| [\`${code}\`](${urls.problem(code)}) | ${status} | ${error ? `\`${error}\`` : '–'} | ${remedy} |`,
    ).join('\n'),
  })
}

const fillLifetimes = readTemplate(template('lifetimes'), ['urls', 'look', 'expiredPage'], {
  tokenLasts: durationIn('hour', RULES.tokenMs),
  neverUsed: durationIn('day', RULES.neverUsedMs),
  idle: durationIn('day', RULES.idleMs),
  recorded: durationIn('day', RULES.useRecordedMs),
  flood: durationIn('hour', RULES.floodMs),
  oldSecret: durationIn('day', RULES.oldSecretMs),
  clientAssertionLasts: durationIn('minute', RULES.clientAssertionMs),
  shortest: durationInWords('minute', RULES.documentShortestMs),
  longest: durationInWords('day', RULES.documentLongestMs),
  usual: durationInWords('hour', RULES.documentDefaultMs),
  proofLasts: durationInWords('minute', RULES.dpopProofMs),
  claimLasts: durationIn('day', RULES.claimMs),
  linkLasts: durationIn('hour', RULES.claimLinkMs),
  codeLasts: durationIn('minute', RULES.claimCodeMs),
  assertionLasts: durationIn('hour', RULES.identityAssertionMs),
  idempotencyLasts: durationIn('hour', RULES.idempotencyMs),
  scopes: Scope.options.map((scope) => `| \`${scope}\` | ${SCOPE_MEANINGS[scope]} |`).join('\n'),
})

function lifetimes(urls: ServiceUrls): string {
  const { getAgent } = operations
  const { secrets = [], ...example } = findExample(getAgent.responses[200], getAgent.outcomes[200], urls)
  return fillLifetimes({
    urls,
    expiredPage: urls.problem('client-expired'),
    // Shows one secret, as a newly registered agent has.
    look: exchange(getAgent, urls, {
      headers: BASIC,
      response: () => ({ ...example, secrets: secrets.slice(-1) }),
    }),
  })
}
