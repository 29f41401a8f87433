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
import { JWT_BEARER_GRANT_TYPE } from '../oauth-metadata.ts'
import { AgentProblem, OAuthError, Problem } from '../openapi/errors.ts'
import { CLIENT_ASSERTION_TYPE } from '../operations/oauth.ts'
import { formatExampleTime } from '../operations/operation.ts'
import { operations } from '../operations/operations.ts'
import { readTemplate } from '../read-template.ts'
import type { ServiceUrls } from '../service-urls.ts'
import { AGENT_ERRORS } from './agent-errors.ts'
import { formatDomainMd, formatDpopMd } from './domain-and-dpop.ts'
import {
  EXAMPLE_BASIC_HEADER,
  formatErrorExchange,
  formatExchange,
  formatJson,
  parseExample,
} from './exchange.ts'
import { MARKDOWN_TYPE, parsePath, type ServedDocument } from './served-document.ts'

/** Creates the documents to which `/auth.md` links, one for each further task. */
export const createAuthDetails = (urls: ServiceUrls): ServedDocument[] => [
  createMarkdownDocument(urls.authVerifiedEmail, formatVerifiedEmail(urls)),
  createMarkdownDocument(urls.authKeys, formatKeys(urls)),
  createMarkdownDocument(urls.authDomain, formatDomainMd(urls)),
  createMarkdownDocument(urls.authDpop, formatDpopMd(urls)),
  createMarkdownDocument(urls.authErrors, formatErrors(urls)),
  createMarkdownDocument(urls.authLifetimes, formatLifetimes(urls)),
]

const createMarkdownDocument = (address: string, content: string): ServedDocument => ({
  path: parsePath(address),
  contentType: MARKDOWN_TYPE,
  content,
})

const getTemplateUrl = (name: string) => new URL(`./${name}.template.md`, import.meta.url)

const TOPIC_MEANINGS: Readonly<Record<ContactTopic, string>> = {
  question:
    'The person has a question about a guide, or about Plainpath. Staff give information, not legal advice.',
  attorney: 'The person needs an attorney. Staff cannot represent them; the response lists who can.',
  correction: 'A guide or an answer is wrong or out of date.',
  other: 'Anything else.',
}

const fillVerifiedEmail = readTemplate(
  getTemplateUrl('verified-email'),
  ['urls', 'begin', 'complete', 'exchange', 'send', 'status', 'withdraw', 'renew', 'end'],
  {
    topics: Object.entries(TOPIC_MEANINGS)
      .map(([topic, meaning]) => `| \`${topic}\` | ${meaning} |`)
      .join('\n'),
    codeDigits: numberInWords(RULES.verificationCodeDigits),
    codeLifetime: durationIn('minute', RULES.verificationCodeMs),
    codes: numberInWords(RULES.verificationCodes),
    tries: numberInWords(RULES.verificationTries),
    linkLifetime: durationIn('hour', RULES.verificationLinkMs),
    verificationMails: numberInWords(RULES.verificationMails),
    resendPause: durationIn('minute', RULES.verificationResendMs),
    mailsToMailbox: numberInWords(RULES.mailsToMailbox),
    mailLate: durationIn('hour', RULES.dayMailWaitsMs),
    messageCharacters: RULES.messageCharacters,
    handOffTriggers: RULES.handOffTriggers,
    idempotencyKeyLifetime: durationIn('hour', RULES.idempotencyMs),
    duplicatePeriod: durationIn('hour', RULES.duplicateMessageMs),
    urgentHold: durationInWords('minute', RULES.urgentHoldMs),
    verificationLifetime: durationIn('day', RULES.verificationMs),
    assertionLifetime: durationIn('hour', RULES.identityAssertionMs),
  },
)

function formatVerifiedEmail(urls: ServiceUrls): string {
  const { beginClaim, completeClaim, createAssertion, endClaim, createToken } = operations
  const { sendContactMessage, getContactMessage, deleteContactMessage } = operations
  const { responses, responseDocs } = createAssertion
  const { identity_assertion: assertion } = parseExample(responses[200], responseDocs[200], urls)
  const token = parseExample(createToken.responses[200], createToken.responseDocs[200], urls)
  const bearerHeaders = { Authorization: `Bearer ${token.access_token}` }
  const receivedMessage = parseExample(
    sendContactMessage.responses[202],
    sendContactMessage.responseDocs[202],
    urls,
  )
  const params = { id: receivedMessage.id }
  return fillVerifiedEmail({
    urls,
    begin: formatExchange(beginClaim, urls, { headers: EXAMPLE_BASIC_HEADER }),
    complete: formatExchange(completeClaim, urls, { headers: EXAMPLE_BASIC_HEADER }),
    exchange: formatExchange(createToken, urls, {
      headers: EXAMPLE_BASIC_HEADER,
      overrides: { grant_type: JWT_BEARER_GRANT_TYPE, assertion },
      createResponseBody: () => ({ ...token, scope: Scope.options.join(' ') }),
    }),
    send: formatExchange(sendContactMessage, urls, {
      headers: { ...bearerHeaders, 'Idempotency-Key': 'a3f1c2d4-renewal' },
    }),
    status: formatExchange(getContactMessage, urls, {
      headers: bearerHeaders,
      params,
      createResponseBody: () => ({
        id: receivedMessage.id,
        status: receivedMessage.status,
        heldUntil: receivedMessage.heldUntil,
      }),
    }),
    withdraw: formatExchange(deleteContactMessage, urls, { headers: bearerHeaders, params }),
    renew: formatExchange(createAssertion, urls, { headers: EXAMPLE_BASIC_HEADER }),
    end: formatExchange(endClaim, urls, { headers: EXAMPLE_BASIC_HEADER }),
  })
}

const fillKeys = readTemplate(
  getTemplateUrl('keys'),
  ['urls', 'register', 'assertion', 'token', 'readAgent', 'replace', 'proof', 'addSecret', 'deleteSecret'],
  {
    agentKeys: numberInWords(RULES.agentKeys),
    algorithms: ASSERTION_ALGORITHMS.map((name) => `\`${name}\``).join(', '),
    clientAssertionLifetime: durationIn('minute', RULES.clientAssertionMs),
    keyProofLifetime: durationIn('minute', RULES.keyProofMs),
    jtiCharacters: RULES.jtiCharacters,
    agentCachedSeconds: RULES.agentCachedMs / 1000,
    // Only the number: the template continues with “more days”.
    oldSecretDays: durationIn('day', RULES.oldSecretMs).replace(/ days?$/, ''),
  },
)

/** Placeholders for JWTs that the reader signs. */
const ASSERTION_PLACEHOLDER = '<assertion>'
const PROOF_PLACEHOLDER = '<proof>'

/** Computes the base64url thumbprint of a P-256 key. RFC 7638 prescribes the order of the members. */
const computeThumbprint = ({ crv, kty, x, y }: Readonly<Record<string, unknown>> = {}) =>
  createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')

/** Returns the Unix time, in seconds, of an example time. */
const getExampleSeconds = (ms: number) => Date.parse(formatExampleTime(ms)) / 1000

function formatKeys(urls: ServiceUrls): string {
  const { registerAgent, replaceAgentKeys, createAgentSecret, deleteAgentSecret, createToken, getAgent } =
    operations
  const agent = parseExample(replaceAgentKeys.responses[200], replaceAgentKeys.responseDocs[200], urls)
  // The response to a registration has no limits.
  const { limits: _, ...registration } = agent
  const { secrets } = parseExample(
    createAgentSecret.responses[201],
    createAgentSecret.responseDocs[201],
    urls,
  )
  const key = agent.jwks?.keys[0]
  const times = { iat: getExampleSeconds(0), exp: getExampleSeconds(60_000) }
  return fillKeys({
    urls,
    register: formatExchange(registerAgent, urls, {
      bodyExample: 'keyed',
      createResponseBody: () => registration,
    }),
    assertion: formatJson({
      header: { alg: key?.alg, kid: key?.kid },
      claims: {
        iss: registration.client_id,
        sub: registration.client_id,
        aud: urls.origin,
        ...times,
        jti: 'b1c7e1f0-5a53-4d0e-9a51-2f6d3c1e8a77',
      },
    }),
    token: formatExchange(createToken, urls, {
      overrides: { client_assertion_type: CLIENT_ASSERTION_TYPE, client_assertion: ASSERTION_PLACEHOLDER },
    }),
    readAgent: formatExchange(getAgent, urls, {
      headers: { 'Client-Assertion': ASSERTION_PLACEHOLDER },
      createResponseBody: () => agent,
    }),
    replace: formatExchange(replaceAgentKeys, urls, {
      headers: { 'Client-Assertion': ASSERTION_PLACEHOLDER },
      overrides: { proof: PROOF_PLACEHOLDER },
    }),
    proof: formatJson({
      header: { typ: 'jwks-proof+jwt', alg: key?.alg, kid: key?.kid },
      claims: {
        iss: registration.client_id,
        aud: urls.agentKeys,
        ...times,
        jti: '0d2f7a64-93c5-4b8e-b6f1-7c2f1d9e4a10',
        jkts: [computeThumbprint(key)],
      },
    }),
    addSecret: formatExchange(createAgentSecret, urls, { headers: EXAMPLE_BASIC_HEADER }),
    deleteSecret: formatExchange(deleteAgentSecret, urls, {
      headers: EXAMPLE_BASIC_HEADER,
      params: { id: secrets[0]?.secret_id ?? '' },
    }),
  })
}

const fillErrors = readTemplate(getTemplateUrl('errors'), [
  'urls',
  'agentError',
  'oauthError',
  'problem',
  'rows',
])

function formatErrors(urls: ServiceUrls): string {
  const { getAgent, createToken, joinWaitlist } = operations
  const request_id = '0199f3c2-5b7e-7c1a-9a37-3f0d6f2f9c11'
  const invalidClientDetail =
    'Send client_id and client_secret with HTTP Basic, or a client assertion in the header Client-Assertion.'
  const invalidClient = AgentProblem.parse({
    type: urls.problem('invalid-client'),
    title: 'Client authentication failed',
    status: 401,
    detail: invalidClientDetail,
    instance: '/api/agent',
    code: 'invalid-client',
    request_id,
    error: 'invalid_client',
    error_description: invalidClientDetail,
  })
  const invalidScope = OAuthError.parse({
    error: 'invalid_scope',
    error_description:
      'This client can have: guides:read waitlist:write. The grant client_credentials never gives contact:write. ' +
      'For that scope, a person must first confirm the client by e-mail. Begin with ' +
      `POST ${urls.claim}; the steps are in ${urls.authVerifiedEmail}.`,
    error_uri: urls.problem('invalid-scope'),
    code: 'invalid-scope',
  })
  const emailMistake = 'must be an e-mail address such as ana@example.org'
  const invalidRequest = Problem.parse({
    type: urls.problem('invalid-request'),
    title: 'The request is not valid',
    status: 400,
    detail: `#/email: ${emailMistake}.`,
    instance: '/api/waitlist',
    code: 'invalid-request',
    request_id,
    errors: [{ pointer: '#/email', detail: emailMistake }],
  })
  return fillErrors({
    urls,
    agentError: formatErrorExchange(getAgent, urls, { error: invalidClient }),
    oauthError: formatErrorExchange(createToken, urls, {
      headers: EXAMPLE_BASIC_HEADER,
      overrides: { scope: 'contact:write' },
      error: invalidScope,
    }),
    problem: formatErrorExchange(joinWaitlist, urls, { overrides: { email: 'ana' }, error: invalidRequest }),
    rows: AGENT_ERRORS.map(
      ({ code, status, error, remedy }) =>
        `| [\`${code}\`](${urls.problem(code)}) | ${status} | ${error ? `\`${error}\`` : '–'} | ${remedy} |`,
    ).join('\n'),
  })
}

const fillLifetimes = readTemplate(getTemplateUrl('lifetimes'), ['urls', 'readAgent', 'expiredPage'], {
  tokenLifetime: durationIn('hour', RULES.tokenMs),
  neverUsed: durationIn('day', RULES.neverUsedMs),
  idle: durationIn('day', RULES.idleMs),
  recorded: durationIn('day', RULES.useRecordedMs),
  flood: durationIn('hour', RULES.floodMs),
  oldSecret: durationIn('day', RULES.oldSecretMs),
  clientAssertionLifetime: durationIn('minute', RULES.clientAssertionMs),
  shortest: durationInWords('minute', RULES.documentShortestMs),
  longest: durationInWords('day', RULES.documentLongestMs),
  usual: durationInWords('hour', RULES.documentDefaultMs),
  proofLifetime: durationInWords('minute', RULES.dpopProofMs),
  verificationLifetime: durationIn('day', RULES.verificationMs),
  linkLifetime: durationIn('hour', RULES.verificationLinkMs),
  codeLifetime: durationIn('minute', RULES.verificationCodeMs),
  assertionLifetime: durationIn('hour', RULES.identityAssertionMs),
  idempotencyKeyLifetime: durationIn('hour', RULES.idempotencyMs),
  scopes: Scope.options.map((scope) => `| \`${scope}\` | ${SCOPE_MEANINGS[scope]} |`).join('\n'),
})

function formatLifetimes(urls: ServiceUrls): string {
  const { getAgent } = operations
  const { secrets = [], ...example } = parseExample(getAgent.responses[200], getAgent.responseDocs[200], urls)
  return fillLifetimes({
    urls,
    expiredPage: urls.problem('client-expired'),
    // A newly registered agent has one secret.
    readAgent: formatExchange(getAgent, urls, {
      headers: EXAMPLE_BASIC_HEADER,
      createResponseBody: () => ({ ...example, secrets: secrets.slice(-1) }),
    }),
  })
}
