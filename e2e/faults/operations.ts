import { randomBytes } from 'node:crypto'
import type { Answer, Sent } from './ask.ts'
import {
  anyOf,
  endedAt,
  endToken,
  isEnding,
  type KnownAgent,
  type KnownToken,
  type Ledger,
  mayBeLost,
} from './ledger.ts'
import { random } from './random.ts'
import { jsonObject, type RefusalForm } from './refusal.ts'

/** What can fail: `auth` and `api` are their processes, `introspection` the way from the API to auth. */
export type Part = 'auth database' | 'auth redis' | 'api database' | 'introspection' | 'auth' | 'api'

export interface Attempt {
  readonly sent: Sent
  /** @returns what is wrong with an answer other than 503; undefined when it is right, and noted in the ledger */
  read(answer: Answer): string | undefined
  /** Whatever came. */
  over?(): void
}

export interface Operation {
  /** Without these it is answered 503; without all others it works. */
  readonly needs: readonly Part[]
  readonly form: RefusalForm
  /** Requests in a hundred. */
  readonly share: number
  /** @returns undefined while the ledger has nothing to do it with */
  prepare(ledger: Ledger): Attempt | undefined
}

const AUTH_STORES: readonly Part[] = ['auth', 'auth database', 'auth redis']

export const OPERATIONS = {
  register: { needs: ['auth', 'auth database'], form: 'agent', share: 8, prepare: register },
  token: { needs: AUTH_STORES, form: 'oauth', share: 14, prepare: issueToken },
  'read with a token': {
    needs: [...AUTH_STORES, 'introspection', 'api'],
    form: 'problem',
    share: 23,
    prepare: (ledger) => readWith(ledger, anyOf(ledger.liveTokens)),
  },
  'read with an ended token': {
    needs: [...AUTH_STORES, 'introspection', 'api'],
    form: 'problem',
    share: 6,
    prepare: (ledger) => readWith(ledger, anyOf(ledger.endedTokens)),
  },
  revoke: { needs: AUTH_STORES, form: 'oauth', share: 6, prepare: revoke },
  'delete agent': { needs: AUTH_STORES, form: 'agent', share: 2, prepare: deleteAgent },
  'token of a deleted agent': { needs: AUTH_STORES, form: 'oauth', share: 1, prepare: tokenOfDeleted },
  join: { needs: ['api', 'api database'], form: 'problem', share: 8, prepare: join },
  'join again': { needs: ['api', 'api database'], form: 'problem', share: 4, prepare: joinAgain },
  guides: { needs: ['api'], form: 'problem', share: 6, prepare: () => read('/api/guides', 'guides') },
  guide: {
    needs: ['api'],
    form: 'problem',
    share: 6,
    prepare: ({ guides }) => read(`/api/guides/${anyOf(guides)}`, 'body'),
  },
  jwks: { needs: ['auth'], form: 'oauth', share: 5, prepare: () => read('/oauth/jwks.json', 'keys') },
  'auth metadata': {
    needs: ['auth'],
    form: 'problem',
    share: 3,
    prepare: () => read('/.well-known/oauth-authorization-server', 'issuer'),
  },
  'api metadata': {
    needs: ['api'],
    form: 'problem',
    share: 3,
    prepare: () => read('/.well-known/oauth-protected-resource', 'resource'),
  },
  health: { needs: ['api'], form: 'problem', share: 5, prepare: health },
} as const satisfies Record<string, Operation>

export type OperationName = keyof typeof OPERATIONS
export const operation = (name: OperationName): Operation => OPERATIONS[name]
export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[]

function unexpected({ status, text }: Answer): string {
  if (status === 0) return `no answer (${text})`
  const { code, error = '' } = jsonObject(text)
  return `${status} ${JSON.stringify(code ?? error).replaceAll('"', '')}`.trim()
}

const basic = ({ id, secret }: KnownAgent) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})
const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_BODY = { 'content-type': 'application/json' }

function read(path: string, member: string): Attempt {
  const right = (answer: Answer) => answer.status === 200 && member in jsonObject(answer.text)
  return { sent: { method: 'GET', path }, read: (answer) => (right(answer) ? undefined : unexpected(answer)) }
}

function health(ledger: Ledger): Attempt {
  return {
    sent: { method: 'GET', path: '/api/health' },
    read(answer) {
      const { checks } = jsonObject(answer.text)
      if (answer.status !== 200 || !checks) return unexpected(answer)
      for (const [name, result] of Object.entries(checks)) ledger.health.add(`${name} ${String(result)}`)
      return undefined
    },
  }
}

function register(ledger: Ledger): Attempt {
  return {
    sent: { method: 'POST', path: '/api/agent/register' },
    read(answer) {
      const { client_id: id, client_secret: secret } = jsonObject(answer.text)
      if (answer.status !== 201 || typeof id !== 'string' || typeof secret !== 'string')
        return unexpected(answer)
      ledger.agents.push({ id, secret, registeredAt: answer.endedAt, busy: 0 })
      return undefined
    },
  }
}

const livingAgents = ({ agents }: Ledger) => agents.filter((agent) => agent.endingFrom === undefined)

function withAgent(agent: KnownAgent, attempt: Attempt): Attempt {
  agent.busy += 1
  return {
    ...attempt,
    over() {
      agent.busy -= 1
    },
  }
}

const tokenRequest = (agent: KnownAgent): Sent => ({
  method: 'POST',
  path: '/oauth/token',
  headers: { ...FORM, ...basic(agent) },
  body: 'grant_type=client_credentials',
})

/** The newest agents half of the time: an instance may not have heard of them. */
function issueToken(ledger: Ledger): Attempt | undefined {
  const agents = livingAgents(ledger)
  const agent = anyOf(random() < 0.5 ? agents.slice(-10) : agents)
  if (!agent) return undefined
  return withAgent(agent, {
    sent: tokenRequest(agent),
    read(answer) {
      const { access_token: value } = jsonObject(answer.text)
      if (answer.status !== 200 || typeof value !== 'string') return unexpected(answer)
      const token = { value, agent, askedAt: answer.startedAt }
      ledger.tokens.push(token)
      if (!mayBeLost(ledger, token, answer.endedAt)) ledger.liveTokens.push(token)
      return undefined
    },
  })
}

/**
 * Whoever lost its connection to the database does not hear of a deletion; it forgets what it knows of the agent when it is
 * connected again, or after 30 s.
 */
export const HEARD_MS = 40_000

function tokenOfDeleted(ledger: Ledger): Attempt | undefined {
  const agent = anyOf(ledger.agents.filter((each) => each.endedAt !== undefined))
  return agent && tokenAfterEnd(ledger, agent)
}

/** Refused; or issued by an instance that had not heard, and then as dead as the agent. */
export function tokenAfterEnd(ledger: Ledger, agent: KnownAgent): Attempt {
  return {
    sent: tokenRequest(agent),
    read(answer) {
      const { access_token: value } = jsonObject(answer.text)
      if (answer.status === 401) return undefined
      if (answer.status !== 200 || typeof value !== 'string') return unexpected(answer)
      const token = { value, agent, askedAt: answer.startedAt }
      ledger.tokens.push(token)
      ledger.endedTokens.push(token)
      const tooLate = answer.startedAt > Number(agent.endedAt) + HEARD_MS
      return tooLate ? 'a deleted agent still gets tokens' : undefined
    },
  }
}

export function readWith(ledger: Ledger, token: KnownToken | undefined): Attempt | undefined {
  if (!token) return undefined
  return {
    sent: { method: 'GET', path: '/api/guides?limit=1', headers: { authorization: `Bearer ${token.value}` } },
    read(answer) {
      if (answer.status === 200)
        return endedAt(token) <= answer.startedAt ? 'R-LIN: an ended token was accepted' : undefined
      if (answer.status !== 401 || answer.header('www-authenticate') === undefined) return unexpected(answer)
      if (isEnding(token, answer.endedAt) || mayBeLost(ledger, token, answer.endedAt)) return undefined
      return '401 for a token that was not ended'
    },
  }
}

function revoke(ledger: Ledger): Attempt | undefined {
  const token = anyOf(ledger.liveTokens)
  if (!token) return undefined
  endToken(ledger, token)
  token.endingFrom = performance.now()
  return withAgent(token.agent, {
    sent: {
      method: 'POST',
      path: '/oauth/revoke',
      headers: { ...FORM, ...basic(token.agent) },
      body: new URLSearchParams({ token: token.value }).toString(),
    },
    read(answer) {
      if (answer.status !== 200) return unexpected(answer)
      token.endedAt = answer.endedAt
      ledger.endedTokens.push(token)
      return undefined
    },
  })
}

/** An agent with a token that nobody uses at the moment, so that no other answer depends on its end. */
function deleteAgent(ledger: Ledger): Attempt | undefined {
  const agent = anyOf(ledger.liveTokens.filter(({ agent: owner }) => owner.busy === 0))?.agent
  if (!agent) return undefined
  agent.endingFrom = performance.now()
  const tokens = ledger.liveTokens.filter((token) => token.agent === agent)
  for (const token of tokens) endToken(ledger, token)
  return withAgent(agent, {
    sent: { method: 'DELETE', path: '/api/agent', headers: basic(agent) },
    read(answer) {
      if (answer.status !== 204) return unexpected(answer)
      agent.endedAt = answer.endedAt
      ledger.endedTokens.push(...tokens)
      return undefined
    },
  })
}

const joining = (email: string): Sent => ({
  method: 'POST',
  path: '/api/waitlist',
  headers: JSON_BODY,
  body: JSON.stringify({ email }),
})

function join(ledger: Ledger): Attempt {
  const email = `${randomBytes(8).toString('hex')}@example.org`
  return {
    sent: joining(email),
    read(answer) {
      if (answer.status !== 201) return unexpected(answer)
      ledger.addresses.push({ email, joinedAt: answer.endedAt })
      return undefined
    },
  }
}

function joinAgain(ledger: Ledger): Attempt | undefined {
  const known = anyOf(ledger.addresses)
  return known && rejoin(known.email)
}

export function rejoin(email: string): Attempt {
  const known = (answer: Answer) =>
    answer.status === 200 && jsonObject(answer.text)['status'] === 'already_joined'
  return {
    sent: joining(email),
    read(answer) {
      if (known(answer)) return undefined
      return answer.status === 201 ? 'LOST: an acknowledged address joined anew' : unexpected(answer)
    },
  }
}

export function showAgent(agent: KnownAgent): Sent {
  return { method: 'GET', path: '/api/agent', headers: basic(agent) }
}
