import { randomBytes } from 'node:crypto'
import {
  type Attempt,
  describeUnexpected,
  FORM_HEADERS,
  recordToken,
  removeLiveTokens,
  withOwner,
} from './attempt.ts'
import { createClientFields, endConnection, refresh } from './connections.ts'
import type { HttpRequest, HttpResponse } from './http-client.ts'
import {
  belongsToPerson,
  endedAt,
  isEndRequested,
  type KnownAgent,
  type KnownToken,
  type Ledger,
  mayBeLost,
  pickRandom,
  removeLiveToken,
} from './ledger.ts'
import { random } from './random.ts'
import { parseJsonObject, type RefusalForm } from './refusal.ts'

/** The parts that can fail: `auth` and `api` are their processes, `introspection` the connections from the API to auth. */
export type Part = 'auth database' | 'auth redis' | 'api database' | 'introspection' | 'auth' | 'api'

export interface Operation {
  /** The parts without which the operation is refused (503). It needs no other part. */
  readonly needs: readonly Part[]
  readonly form: RefusalForm
  /** Its share of the requests, in per cent. */
  readonly share: number
  /** Prepares a request. Returns undefined if the ledger has nothing for it. */
  prepare(ledger: Ledger): Attempt | undefined
}

const AUTH_STORES: readonly Part[] = ['auth', 'auth database', 'auth redis']

export const OPERATIONS = {
  register: { needs: ['auth', 'auth database'], form: 'agent', share: 8, prepare: register },
  token: { needs: AUTH_STORES, form: 'oauth', share: 10, prepare: issueToken },
  'bound token': { needs: AUTH_STORES, form: 'oauth', share: 3, prepare: issueBoundToken },
  'read with a token': {
    needs: [...AUTH_STORES, 'introspection', 'api'],
    form: 'problem',
    share: 16,
    prepare: (ledger) => useToken(ledger, pickAgentToken(ledger, { isBound: false })),
  },
  'read with a bound token': {
    // The API marks each proof as used in Redis.
    needs: [...AUTH_STORES, 'introspection', 'api'],
    form: 'problem',
    share: 5,
    prepare: (ledger) => useToken(ledger, pickAgentToken(ledger, { isBound: true })),
  },
  'use of a person’s token': {
    needs: [...AUTH_STORES, 'introspection', 'api'],
    form: 'oauth',
    share: 4,
    prepare: (ledger) => useToken(ledger, pickRandom(ledger.liveTokens.filter(belongsToPerson))),
  },
  'use of an ended token': {
    needs: [...AUTH_STORES, 'introspection', 'api'],
    form: 'problem',
    share: 6,
    prepare: (ledger) => useToken(ledger, pickRandom(ledger.endedTokens)),
  },
  refresh: { needs: AUTH_STORES, form: 'oauth', share: 4, prepare: refresh },
  revoke: { needs: AUTH_STORES, form: 'oauth', share: 6, prepare: revoke },
  'delete agent': { needs: AUTH_STORES, form: 'agent', share: 2, prepare: deleteAgent },
  'token of a deleted agent': { needs: AUTH_STORES, form: 'oauth', share: 1, prepare: requestTokenOfDeleted },
  join: { needs: ['api', 'api database'], form: 'problem', share: 8, prepare: join },
  'join again': { needs: ['api', 'api database'], form: 'problem', share: 4, prepare: joinAgain },
  guides: { needs: ['api'], form: 'problem', share: 3, prepare: () => createRead('/api/guides', 'guides') },
  guide: {
    needs: ['api'],
    form: 'problem',
    share: 4,
    prepare: ({ guides }) => createRead(`/api/guides/${pickRandom(guides)}`, 'body'),
  },
  jwks: { needs: ['auth'], form: 'oauth', share: 5, prepare: () => createRead('/oauth/jwks.json', 'keys') },
  'auth metadata': {
    needs: ['auth'],
    form: 'problem',
    share: 3,
    prepare: () => createRead('/.well-known/oauth-authorization-server', 'issuer'),
  },
  'api metadata': {
    needs: ['api'],
    form: 'problem',
    share: 3,
    prepare: () => createRead('/.well-known/oauth-protected-resource', 'resource'),
  },
  health: { needs: ['api'], form: 'problem', share: 5, prepare: checkHealth },
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof OPERATIONS
export const operation = (name: OperationName): Operation => OPERATIONS[name]
export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[]

const basic = ({ id, secret }: KnownAgent) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
const JSON_BODY = { 'content-type': 'application/json' }

function createRead(path: string, member: string): Attempt {
  const isCorrect = (response: HttpResponse) =>
    response.status === 200 && member in parseJsonObject(response.text)
  return {
    sent: { method: 'GET', path },
    read: (response) => (isCorrect(response) ? undefined : describeUnexpected(response)),
  }
}

function checkHealth(ledger: Ledger): Attempt {
  return {
    sent: { method: 'GET', path: '/api/health' },
    read(response) {
      const { checks } = parseJsonObject(response.text)
      if (response.status !== 200 || !checks) return describeUnexpected(response)
      for (const [name, result] of Object.entries(checks)) ledger.health.add(`${name} ${String(result)}`)
      return undefined
    },
  }
}

function register(ledger: Ledger): Attempt {
  return {
    sent: { method: 'POST', path: '/api/agent/register' },
    read(response) {
      const { client_id: id, client_secret: secret } = parseJsonObject(response.text)
      if (response.status !== 201 || typeof id !== 'string' || typeof secret !== 'string')
        return describeUnexpected(response)
      ledger.agents.push({ id, secret, registeredAt: response.endedAt, busy: 0 })
      return undefined
    },
  }
}

const listActiveAgents = ({ agents }: Ledger) => agents.filter((agent) => agent.endRequestedAt === undefined)

const createTokenRequest = (agent: KnownAgent): HttpRequest => ({
  method: 'POST',
  path: '/oauth/token',
  headers: { ...FORM_HEADERS, ...basic(agent) },
  body: 'grant_type=client_credentials',
})

/** Prefers the newest agents half of the time, because an instance may not have cached them. */
function pickAgent(ledger: Ledger): KnownAgent | undefined {
  const agents = listActiveAgents(ledger)
  return pickRandom(random() < 0.5 ? agents.slice(-10) : agents)
}

const pickAgentToken = ({ liveTokens }: Ledger, { isBound }: { isBound: boolean }) =>
  pickRandom(liveTokens.filter((token) => token.isBound === isBound && !belongsToPerson(token)))

function issueToken(ledger: Ledger): Attempt | undefined {
  const agent = pickAgent(ledger)
  if (!agent) return undefined
  return withOwner(agent, {
    sent: createTokenRequest(agent),
    read(response) {
      const { access_token: value } = parseJsonObject(response.text)
      if (response.status !== 200 || typeof value !== 'string') return describeUnexpected(response)
      recordToken(ledger, { value, owner: agent, isBound: false, requestedAt: response.startedAt }, response)
      return undefined
    },
  })
}

/** Requests a bound token. The first response, and any after a change of the nonce, is a 400 with the nonce to use. */
function issueBoundToken(ledger: Ledger): Attempt | undefined {
  const agent = pickAgent(ledger)
  if (!agent) return undefined
  const { method, path, headers, body } = createTokenRequest(agent)
  const dpop = ledger.key.proof({ method, url: `${ledger.origin}${path}`, nonce: ledger.nonce })
  return withOwner(agent, {
    sent: { method, path, headers: { ...headers, dpop }, ...(body !== undefined && { body }) },
    read(response) {
      const { access_token: value, token_type: type, error } = parseJsonObject(response.text)
      ledger.nonce = response.header('dpop-nonce') ?? ledger.nonce
      if (response.status === 400 && error === 'use_dpop_nonce') return undefined
      if (response.status !== 200 || typeof value !== 'string' || type !== 'DPoP')
        return describeUnexpected(response)
      recordToken(ledger, { value, owner: agent, isBound: true, requestedAt: response.startedAt }, response)
      return undefined
    },
  })
}

/**
 * The longest time for which an instance may use a deleted agent from its cache. Without a connection to the database it receives
 * no notification; it discards the agent when it is connected again, or after 30 s.
 */
export const NOTIFIED_MS = 40_000

function requestTokenOfDeleted(ledger: Ledger): Attempt | undefined {
  const agent = pickRandom(ledger.agents.filter((each) => each.endedAt !== undefined))
  return agent && requestTokenAfterDeletion(ledger, agent)
}

/** Requests a token after the agent's deletion. This must fail, or, with a stale cache, the token must be as invalid as others. */
export function requestTokenAfterDeletion(ledger: Ledger, agent: KnownAgent): Attempt {
  return {
    sent: createTokenRequest(agent),
    read(response) {
      const { access_token: value } = parseJsonObject(response.text)
      if (response.status === 401) return undefined
      if (response.status !== 200 || typeof value !== 'string') return describeUnexpected(response)
      const token = { value, owner: agent, isBound: false, requestedAt: response.startedAt }
      ledger.tokens.push(token)
      ledger.endedTokens.push(token)
      const isTooLate = response.startedAt > Number(agent.endedAt) + NOTIFIED_MS
      return isTooLate ? 'a deleted agent still gets tokens' : undefined
    },
  }
}

function presentToken({ key, origin }: Ledger, { value, isBound }: KnownToken): Record<string, string> {
  if (!isBound) return { authorization: `Bearer ${value}` }
  const dpop = key.proof({ method: 'GET', url: `${origin}/api/guides`, token: value })
  return { authorization: `DPoP ${value}`, dpop }
}

const LIST_TOOLS = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })

/** Returns the request with which an agent reads guides, or with which the app of a person lists tools. */
function createTokenUse(ledger: Ledger, token: KnownToken): HttpRequest {
  if (!belongsToPerson(token))
    return { method: 'GET', path: '/api/guides?limit=1', headers: presentToken(ledger, token) }
  const accept = 'application/json, text/event-stream'
  const headers = {
    ...JSON_BODY,
    accept,
    'mcp-protocol-version': '2025-11-25',
    authorization: `Bearer ${token.value}`,
  }
  return { method: 'POST', path: '/mcp', headers, body: LIST_TOOLS }
}

export function useToken(ledger: Ledger, token: KnownToken | undefined): Attempt | undefined {
  if (!token) return undefined
  return {
    sent: createTokenUse(ledger, token),
    ...(belongsToPerson(token) && { form: 'oauth' as const }),
    read(response) {
      if (response.status === 200)
        return endedAt(token) <= response.startedAt ? 'R-LIN: an ended token was accepted' : undefined
      if (response.status !== 401 || response.header('www-authenticate') === undefined)
        return describeUnexpected(response)
      if (isEndRequested(token, response.endedAt) || mayBeLost(ledger, token, response.endedAt))
        return undefined
      return '401 for a token that was not ended'
    },
  }
}

function revoke(ledger: Ledger): Attempt | undefined {
  const token = pickRandom(ledger.liveTokens)
  if (!token) return undefined
  const attempt = belongsToPerson(token) && random() < 0.3 ? endConnection(ledger, token.owner) : undefined
  return attempt ?? revokeToken(ledger, token)
}

function revokeToken(ledger: Ledger, token: KnownToken): Attempt {
  removeLiveToken(ledger, token)
  token.endRequestedAt = performance.now()
  return withOwner(token.owner, {
    sent: {
      method: 'POST',
      path: '/oauth/revoke',
      headers: { ...FORM_HEADERS, ...(!belongsToPerson(token) && basic(token.owner as KnownAgent)) },
      body: new URLSearchParams({
        token: token.value,
        ...(belongsToPerson(token) && createClientFields(ledger)),
      }).toString(),
    },
    read(response) {
      if (response.status !== 200) return describeUnexpected(response)
      token.endedAt = response.endedAt
      ledger.endedTokens.push(token)
      return undefined
    },
  })
}

/** Deletes an agent without requests in flight, so that no other response depends on the deletion. */
function deleteAgent(ledger: Ledger): Attempt | undefined {
  const agent = pickRandom(
    ledger.liveTokens.filter((token) => !belongsToPerson(token) && token.owner.busy === 0),
  )?.owner as KnownAgent | undefined
  if (!agent) return undefined
  agent.endRequestedAt = performance.now()
  const tokens = removeLiveTokens(ledger, agent)
  return withOwner(agent, {
    sent: { method: 'DELETE', path: '/api/agent', headers: basic(agent) },
    read(response) {
      if (response.status !== 204) return describeUnexpected(response)
      agent.endedAt = response.endedAt
      ledger.endedTokens.push(...tokens)
      return undefined
    },
  })
}

const createJoin = (email: string): HttpRequest => ({
  method: 'POST',
  path: '/api/waitlist',
  headers: JSON_BODY,
  body: JSON.stringify({ email }),
})

function join(ledger: Ledger): Attempt {
  const email = `${randomBytes(8).toString('hex')}@example.org`
  return {
    sent: createJoin(email),
    read(response) {
      if (response.status !== 201) return describeUnexpected(response)
      ledger.addresses.push({ email, joinedAt: response.endedAt })
      return undefined
    },
  }
}

function joinAgain(ledger: Ledger): Attempt | undefined {
  const address = pickRandom(ledger.addresses)
  return address && rejoin(address.email)
}

export function rejoin(email: string): Attempt {
  const isAlreadyJoined = (response: HttpResponse) =>
    response.status === 200 && parseJsonObject(response.text)['status'] === 'already_joined'
  return {
    sent: createJoin(email),
    read(response) {
      if (isAlreadyJoined(response)) return undefined
      return response.status === 201
        ? 'LOST: an acknowledged address joined anew'
        : describeUnexpected(response)
    },
  }
}

export function showAgent(agent: KnownAgent): HttpRequest {
  return { method: 'GET', path: '/api/agent', headers: basic(agent) }
}
