import { randomBytes } from 'node:crypto'
import {
  type Attempt,
  describeUnexpected,
  FORM_HEADERS,
  recordToken,
  removeLiveTokens,
  trackRequestInFlight,
} from './attempt.ts'
import { createClientFields, prepareConnectionRevocation, prepareRefresh } from './connections.ts'
import type { HttpRequest, HttpResponse } from './http-client.ts'
import {
  belongsToPerson,
  getRevokedAt,
  isRevocationRequested,
  type KnownAgent,
  type KnownToken,
  type Ledger,
  mayBeLost,
  pickRandom,
  removeLiveToken,
} from './ledger.ts'
import { random } from './random.ts'
import { type ErrorFormat, parseJsonObject } from './refusal.ts'

/**
 * The components that can fail. `auth` and `api` are processes, `redis` serves both apps, and `introspection` is the connections
 * from the API to auth.
 */
export type Component = 'auth database' | 'redis' | 'api database' | 'introspection' | 'auth' | 'api'

export interface Operation {
  /** While one of these components fails, the operation may be refused (503). It needs no other component. */
  readonly needs: readonly Component[]
  /** The format that a refusal (503) must have. An attempt can override it. */
  readonly errorFormat: ErrorFormat
  /** The operation's share of the requests, in per cent. */
  readonly share: number
  /** Prepares a request. Returns undefined if the ledger has nothing for it. */
  prepare(ledger: Ledger): Attempt | undefined
}

const AUTH_AND_STORES: readonly Component[] = ['auth', 'auth database', 'redis']
const API_AND_DATABASE: readonly Component[] = ['api', 'api database']

/** The operations of the load. Their shares add up to 100. */
export const OPERATIONS = {
  register: {
    needs: ['auth', 'auth database'],
    errorFormat: 'agent',
    share: 8,
    prepare: prepareRegistration,
  },
  token: { needs: AUTH_AND_STORES, errorFormat: 'oauth', share: 10, prepare: prepareTokenRequest },
  'bound token': {
    needs: AUTH_AND_STORES,
    errorFormat: 'oauth',
    share: 3,
    prepare: prepareBoundTokenRequest,
  },
  'read with a token': {
    needs: [...AUTH_AND_STORES, 'introspection', 'api'],
    errorFormat: 'problem',
    share: 16,
    prepare: (ledger) => prepareTokenUse(ledger, pickAgentToken(ledger, { isBound: false })),
  },
  'read with a bound token': {
    // The API also records used DPoP proofs in Redis, which is already among the stores of auth.
    needs: [...AUTH_AND_STORES, 'introspection', 'api'],
    errorFormat: 'problem',
    share: 5,
    prepare: (ledger) => prepareTokenUse(ledger, pickAgentToken(ledger, { isBound: true })),
  },
  'use of a person’s token': {
    needs: [...AUTH_AND_STORES, 'introspection', 'api'],
    errorFormat: 'oauth',
    share: 4,
    prepare: (ledger) => prepareTokenUse(ledger, pickRandom(ledger.liveTokens.filter(belongsToPerson))),
  },
  'use of a revoked token': {
    needs: [...AUTH_AND_STORES, 'introspection', 'api'],
    errorFormat: 'problem',
    share: 6,
    prepare: (ledger) => prepareTokenUse(ledger, pickRandom(ledger.revokedTokens)),
  },
  refresh: { needs: AUTH_AND_STORES, errorFormat: 'oauth', share: 4, prepare: prepareRefresh },
  revoke: { needs: AUTH_AND_STORES, errorFormat: 'oauth', share: 6, prepare: prepareRevocation },
  'delete agent': { needs: AUTH_AND_STORES, errorFormat: 'agent', share: 2, prepare: prepareAgentDeletion },
  'token request of a deleted agent': {
    needs: AUTH_AND_STORES,
    errorFormat: 'oauth',
    share: 1,
    prepare: prepareTokenRequestForRandomDeletedAgent,
  },
  join: { needs: API_AND_DATABASE, errorFormat: 'problem', share: 8, prepare: prepareJoin },
  'join again': { needs: API_AND_DATABASE, errorFormat: 'problem', share: 4, prepare: prepareRandomRejoin },
  guides: {
    needs: ['api'],
    errorFormat: 'problem',
    share: 3,
    prepare: () => prepareRead('/api/guides', 'guides'),
  },
  guide: {
    needs: ['api'],
    errorFormat: 'problem',
    share: 4,
    prepare: ({ guides }) => prepareRead(`/api/guides/${pickRandom(guides)}`, 'body'),
  },
  jwks: {
    needs: ['auth'],
    errorFormat: 'oauth',
    share: 5,
    prepare: () => prepareRead('/oauth/jwks.json', 'keys'),
  },
  'auth metadata': {
    needs: ['auth'],
    errorFormat: 'problem',
    share: 3,
    prepare: () => prepareRead('/.well-known/oauth-authorization-server', 'issuer'),
  },
  'api metadata': {
    needs: ['api'],
    errorFormat: 'problem',
    share: 3,
    prepare: () => prepareRead('/.well-known/oauth-protected-resource', 'resource'),
  },
  health: { needs: ['api'], errorFormat: 'problem', share: 5, prepare: prepareHealthCheck },
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof OPERATIONS
export const getOperation = (name: OperationName): Operation => OPERATIONS[name]
export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[]

const createBasicHeaders = ({ id, secret }: KnownAgent) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
const JSON_HEADERS = { 'content-type': 'application/json' }

/** Prepares an unauthenticated GET. Its response must be a 200 whose JSON object has `requiredMember`. */
function prepareRead(path: string, requiredMember: string): Attempt {
  const isCorrect = (response: HttpResponse) =>
    response.status === 200 && requiredMember in parseJsonObject(response.text)
  return {
    request: { method: 'GET', path },
    check: (response) => (isCorrect(response) ? undefined : describeUnexpected(response)),
  }
}

function prepareHealthCheck(ledger: Ledger): Attempt {
  return {
    request: { method: 'GET', path: '/api/health' },
    check(response) {
      const { checks } = parseJsonObject(response.text)
      if (response.status !== 200 || !checks) return describeUnexpected(response)
      for (const [name, result] of Object.entries(checks)) ledger.health.add(`${name} ${String(result)}`)
      return undefined
    },
  }
}

function prepareRegistration(ledger: Ledger): Attempt {
  return {
    request: { method: 'POST', path: '/api/agent/register' },
    check(response) {
      const { client_id: id, client_secret: secret } = parseJsonObject(response.text)
      if (response.status !== 201 || typeof id !== 'string' || typeof secret !== 'string')
        return describeUnexpected(response)
      ledger.agents.push({ id, secret, registeredAt: response.endedAt, requestsInFlight: 0 })
      return undefined
    },
  }
}

const listActiveAgents = ({ agents }: Ledger) =>
  agents.filter((agent) => agent.deletionRequestedAt === undefined)

const createTokenRequest = (agent: KnownAgent): HttpRequest => ({
  method: 'POST',
  path: '/oauth/token',
  headers: { ...FORM_HEADERS, ...createBasicHeaders(agent) },
  body: 'grant_type=client_credentials',
})

/** Picks an agent. Half of the time it is one of the newest, which an instance may not have cached. */
function pickAgent(ledger: Ledger): KnownAgent | undefined {
  const agents = listActiveAgents(ledger)
  return pickRandom(random() < 0.5 ? agents.slice(-10) : agents)
}

const pickAgentToken = ({ liveTokens }: Ledger, { isBound }: { isBound: boolean }) =>
  pickRandom(liveTokens.filter((token) => token.isBound === isBound && !belongsToPerson(token)))

function prepareTokenRequest(ledger: Ledger): Attempt | undefined {
  const agent = pickAgent(ledger)
  if (!agent) return undefined
  return trackRequestInFlight(agent, {
    request: createTokenRequest(agent),
    check(response) {
      const { access_token: value } = parseJsonObject(response.text)
      if (response.status !== 200 || typeof value !== 'string') return describeUnexpected(response)
      recordToken(ledger, { value, owner: agent, isBound: false, requestedAt: response.startedAt }, response)
      return undefined
    },
  })
}

/** Prepares the request of a bound token. A 400 with the nonce to use is correct, because the service may have changed its nonce. */
function prepareBoundTokenRequest(ledger: Ledger): Attempt | undefined {
  const agent = pickAgent(ledger)
  if (!agent) return undefined
  const { method, path, headers, body } = createTokenRequest(agent)
  const dpop = ledger.key.signProof({ method, url: `${ledger.origin}${path}`, nonce: ledger.nonce })
  return trackRequestInFlight(agent, {
    request: { method, path, headers: { ...headers, dpop }, ...(body !== undefined && { body }) },
    check(response) {
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
 * Exceeds the longest time for which an instance may use a deleted agent from its cache. An instance that is not connected to
 * the database receives no notification of the deletion. It discards the agent when it is connected again, or after 30 s.
 */
export const MAX_STALE_AGENT_MS = 40_000

function prepareTokenRequestForRandomDeletedAgent(ledger: Ledger): Attempt | undefined {
  const agent = pickRandom(ledger.agents.filter((each) => each.deletedAt !== undefined))
  return agent && prepareTokenRequestForDeletedAgent(ledger, agent)
}

/**
 * Prepares a token request after the agent's deletion. An instance with a stale cache may still issue a token. That token must
 * be invalid, so it is recorded as revoked.
 */
export function prepareTokenRequestForDeletedAgent(ledger: Ledger, agent: KnownAgent): Attempt {
  return {
    request: createTokenRequest(agent),
    check(response) {
      const { access_token: value } = parseJsonObject(response.text)
      if (response.status === 401) return undefined
      if (response.status !== 200 || typeof value !== 'string') return describeUnexpected(response)
      const token = { value, owner: agent, isBound: false, requestedAt: response.startedAt }
      ledger.tokens.push(token)
      ledger.revokedTokens.push(token)
      const isTooLate = response.startedAt > Number(agent.deletedAt) + MAX_STALE_AGENT_MS
      return isTooLate ? 'a deleted agent still gets tokens' : undefined
    },
  }
}

function createTokenHeaders({ key, origin }: Ledger, { value, isBound }: KnownToken): Record<string, string> {
  if (!isBound) return { authorization: `Bearer ${value}` }
  const dpop = key.signProof({ method: 'GET', url: `${origin}/api/guides`, token: value })
  return { authorization: `DPoP ${value}`, dpop }
}

const LIST_TOOLS = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })

/** Creates the request in which an agent reads guides, or in which a person's app lists the MCP tools. */
function createTokenUseRequest(ledger: Ledger, token: KnownToken): HttpRequest {
  if (!belongsToPerson(token))
    return { method: 'GET', path: '/api/guides?limit=1', headers: createTokenHeaders(ledger, token) }
  const accept = 'application/json, text/event-stream'
  const headers = {
    ...JSON_HEADERS,
    accept,
    'mcp-protocol-version': '2025-11-25',
    authorization: `Bearer ${token.value}`,
  }
  return { method: 'POST', path: '/mcp', headers, body: LIST_TOOLS }
}

/**
 * Prepares a request to the API with a token. A 200 is a mistake if the revocation was acknowledged before the request began.
 * A 401 is a mistake unless, before the response arrived, the revocation was requested or the store may have lost the token.
 */
export function prepareTokenUse(ledger: Ledger, token: KnownToken | undefined): Attempt | undefined {
  if (!token) return undefined
  return {
    request: createTokenUseRequest(ledger, token),
    ...(belongsToPerson(token) && { errorFormat: 'oauth' as const }),
    check(response) {
      if (response.status === 200)
        return getRevokedAt(token) <= response.startedAt ? 'R-LIN: a revoked token was accepted' : undefined
      if (response.status !== 401 || response.header('www-authenticate') === undefined)
        return describeUnexpected(response)
      if (isRevocationRequested(token, response.endedAt) || mayBeLost(ledger, token, response.endedAt))
        return undefined
      return '401 for a token that was not revoked'
    },
  }
}

/** Prepares a revocation. For a person's token, three in ten revoke the whole connection, if it may be revoked. */
function prepareRevocation(ledger: Ledger): Attempt | undefined {
  const token = pickRandom(ledger.liveTokens)
  if (!token) return undefined
  const attempt =
    belongsToPerson(token) && random() < 0.3 ? prepareConnectionRevocation(ledger, token.owner) : undefined
  return attempt ?? prepareTokenRevocation(ledger, token)
}

function prepareTokenRevocation(ledger: Ledger, token: KnownToken): Attempt {
  removeLiveToken(ledger, token)
  token.revocationRequestedAt = performance.now()
  return trackRequestInFlight(token.owner, {
    request: {
      method: 'POST',
      path: '/oauth/revoke',
      headers: {
        ...FORM_HEADERS,
        ...(!belongsToPerson(token) && createBasicHeaders(token.owner as KnownAgent)),
      },
      body: new URLSearchParams({
        token: token.value,
        ...(belongsToPerson(token) && createClientFields(ledger)),
      }).toString(),
    },
    check(response) {
      if (response.status !== 200) return describeUnexpected(response)
      token.revokedAt = response.endedAt
      ledger.revokedTokens.push(token)
      return undefined
    },
  })
}

/**
 * Prepares the deletion of an agent that has a live token. The agent must have no token request or revocation in flight,
 * because its response would depend on the deletion.
 */
function prepareAgentDeletion(ledger: Ledger): Attempt | undefined {
  const agent = pickRandom(
    ledger.liveTokens.filter((token) => !belongsToPerson(token) && token.owner.requestsInFlight === 0),
  )?.owner as KnownAgent | undefined
  if (!agent) return undefined
  agent.deletionRequestedAt = performance.now()
  const tokens = removeLiveTokens(ledger, agent)
  return trackRequestInFlight(agent, {
    request: { method: 'DELETE', path: '/api/agent', headers: createBasicHeaders(agent) },
    check(response) {
      if (response.status !== 204) return describeUnexpected(response)
      agent.deletedAt = response.endedAt
      ledger.revokedTokens.push(...tokens)
      return undefined
    },
  })
}

const createJoinRequest = (email: string): HttpRequest => ({
  method: 'POST',
  path: '/api/waitlist',
  headers: JSON_HEADERS,
  body: JSON.stringify({ email }),
})

function prepareJoin(ledger: Ledger): Attempt {
  const email = `${randomBytes(8).toString('hex')}@example.org`
  return {
    request: createJoinRequest(email),
    check(response) {
      if (response.status !== 201) return describeUnexpected(response)
      ledger.addresses.push({ email, joinedAt: response.endedAt })
      return undefined
    },
  }
}

function prepareRandomRejoin(ledger: Ledger): Attempt | undefined {
  const address = pickRandom(ledger.addresses)
  return address && prepareRejoin(address.email)
}

/** Prepares a repeated join with an address whose first join was acknowledged. */
export function prepareRejoin(email: string): Attempt {
  const isAlreadyJoined = (response: HttpResponse) =>
    response.status === 200 && parseJsonObject(response.text)['status'] === 'already_joined'
  return {
    request: createJoinRequest(email),
    check(response) {
      if (isAlreadyJoined(response)) return undefined
      return response.status === 201
        ? 'LOST: the waitlist no longer contains an address that had joined'
        : describeUnexpected(response)
    },
  }
}

/** Creates the request in which an agent reads its own registration. */
export function createAgentReadRequest(agent: KnownAgent): HttpRequest {
  return { method: 'GET', path: '/api/agent', headers: createBasicHeaders(agent) }
}
