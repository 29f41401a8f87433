import { randomBytes } from 'node:crypto'
import { cycle, formatRequest, type Target } from './load/target.ts'
import { createBoundRequests } from './testbed/bound-requests.ts'
import {
  createApiIntrospectionFormatter,
  formatBearerRead,
  formatRead,
  formatTokenRequest,
} from './testbed/format-requests.ts'
import type { Stores } from './testbed/open-stores.ts'
import { createOwnTokenIntrospections } from './testbed/own-token-introspections.ts'
import { AGENT_NAME, type AgentWithToken } from './testbed/register-agents.ts'
import type { BaselineName, Baselines } from './testbed/start-baselines.ts'
import type { MeasuredApp } from './testbed/start-measured-app.ts'

/** A measured path, and the baselines with which it is compared. */
export interface MeasuredPath {
  readonly name: string
  readonly title: string
  /**
   * The resource that limits the throughput. If it is the server, a measurement in which the load generator was busy and the
   * server was not is invalid.
   */
  readonly boundBy: 'server' | 'store'
  readonly ours: Target
  /** The baselines, which are measured in the same rounds as our target. */
  readonly comparisons: readonly Comparison[]
  /** Removes deferred work, such as mails, after each measurement of our target. */
  readonly cleanUp?: () => Promise<void>
}

/** A baseline of a path, and the target that our path should reach against it. */
export interface Comparison {
  /** `bearer` is the API itself, with a bearer token for the same read; `other` is the same path at another commit. */
  readonly baseline: BaselineName | 'bearer' | 'other'
  readonly target: Target
  /** The minimum ratio of the baseline's processor time to ours; undefined if there is none. */
  readonly atLeast?: number
  /** Removes deferred work after each measurement of this target. */
  readonly cleanUp?: MeasuredPath['cleanUp']
}

export const GUIDES = '/api/guides'
export const GUIDE = '/api/guides/work-permit'
/** The number of tokens for reads. They are so few that their introspections, one per token every 30 s, hardly affect the reads. */
const CACHED_TOKENS = 200
/** The endpoints of the baselines that are OAuth servers. */
const OAUTH_PATHS = {
  'oidc-bare': { token: '/token', introspection: '/token/introspection' },
  'better-auth': { token: '/api/auth/oauth2/token', introspection: '/api/auth/oauth2/introspect' },
}

export interface Testbed {
  readonly auth: MeasuredApp
  readonly api: MeasuredApp
  readonly baselines: Baselines
  readonly agents: readonly AgentWithToken[]
  readonly stores: Stores
}

/** Creates all paths that the bench measures. */
export async function createMeasuredPaths(testbed: Testbed): Promise<MeasuredPath[]> {
  return [
    createGuidesPath(testbed),
    createGuidePath(testbed),
    createBoundGuidePath(testbed),
    createTokenPath(testbed),
    await createIntrospectionPath(testbed),
    createRegistrationPath(testbed),
    createWaitlistPath(testbed),
    createOrdinaryAnswersPath(testbed),
    createWorstAnswerPath(testbed),
  ]
}

/** Creates a thousand requests, each from another address, and a function that returns them in turn. */
const cycleAddresses = (createRequest: () => Buffer) => cycle(Array.from({ length: 1_000 }, createRequest))

function createGuidesPath({ api, baselines: { servers } }: Testbed): MeasuredPath {
  const next = cycleAddresses(() => formatRead(GUIDES))
  return {
    name: 'guides',
    title: '`GET /api/guides`, public',
    boundBy: 'server',
    ours: createTarget(api, next),
    comparisons: [
      { baseline: 'koa-bare', target: createTarget(servers['koa-bare'], next), atLeast: 0.8 },
      { baseline: 'node-http', target: createTarget(servers['node-http'], next) },
    ],
  }
}

const createCachedReads = ({ api, agents }: Testbed) =>
  createTarget(api, cycle(agents.slice(0, CACHED_TOKENS).map(({ token }) => formatBearerRead(GUIDE, token))))

function createGuidePath(testbed: Testbed): MeasuredPath {
  const { servers, jwt } = testbed.baselines
  const next = cycleAddresses(() => formatBearerRead(GUIDE, jwt))
  return {
    name: 'guide-bearer',
    title: '`GET /api/guides/{slug}`, cached bearer token',
    boundBy: 'server',
    ours: createCachedReads(testbed),
    comparisons: [
      { baseline: 'koa-bare', target: createTarget(servers['koa-bare'], next), atLeast: 0.65 },
      { baseline: 'koa-jwt', target: createTarget(servers['koa-jwt'], next), atLeast: 3.5 },
    ],
  }
}

/**
 * Creates the path that measures the cost of a DPoP proof: the API verifies its signature and stores it in Redis as used.
 */
function createBoundGuidePath(testbed: Testbed): MeasuredPath {
  const { auth, api, agents } = testbed
  const requests = createBoundRequests({ auth, agents: agents.slice(0, CACHED_TOKENS), path: GUIDE })
  return {
    name: 'guide-dpop',
    title: '`GET /api/guides/{slug}`, cached token bound to a key',
    boundBy: 'server',
    ours: { ...createTarget(api, requests.next), prepare: requests.prepare },
    comparisons: [{ baseline: 'bearer', target: createCachedReads(testbed) }],
  }
}

function createTokenPath({ auth, baselines: { servers, client }, agents }: Testbed): MeasuredPath {
  const createBaselineTarget = (name: keyof typeof OAUTH_PATHS) =>
    createTarget(
      servers[name],
      cycleAddresses(() => formatTokenRequest(OAUTH_PATHS[name].token, client)),
    )
  return {
    name: 'token',
    title: '`POST /oauth/token` on Redis',
    boundBy: 'server',
    ours: createTarget(auth, cycle(agents.map((agent) => formatTokenRequest('/oauth/token', agent)))),
    comparisons: [
      { baseline: 'oidc-bare', target: createBaselineTarget('oidc-bare'), atLeast: 0.6 },
      { baseline: 'better-auth', target: createBaselineTarget('better-auth') },
    ],
  }
}

async function createIntrospectionPath({ auth, baselines, agents, stores }: Testbed): Promise<MeasuredPath> {
  const { servers, client } = baselines
  const formatApiIntrospection = await createApiIntrospectionFormatter(stores)
  const createBaselineTarget = (name: keyof typeof OAUTH_PATHS): Target => {
    const { port } = servers[name]
    const { next, prepare } = createOwnTokenIntrospections({
      port,
      paths: OAUTH_PATHS[name],
      client,
      count: agents.length,
    })
    return { ...createTarget(servers[name], next), prepare }
  }
  return {
    name: 'introspect',
    title: '`POST /oauth/introspect`, signed',
    boundBy: 'server',
    ours: createTarget(
      { port: auth.internalPort, pid: auth.pid },
      cycle(agents.map(({ token }) => formatApiIntrospection(token))),
    ),
    comparisons: [
      { baseline: 'oidc-bare', target: createBaselineTarget('oidc-bare'), atLeast: 0.6 },
      { baseline: 'better-auth', target: createBaselineTarget('better-auth') },
    ],
  }
}

function createRegistrationPath({ auth, baselines: { servers } }: Testbed): MeasuredPath {
  const next = cycleAddresses(() => formatPost('/api/agent/register', { client_name: AGENT_NAME }))
  return {
    name: 'register',
    title: '`POST /api/agent/register` on Postgres',
    boundBy: 'store',
    ours: createTarget(auth, next, 201),
    comparisons: [
      { baseline: 'koa-insert', target: createTarget(servers['koa-insert'], next, 201), atLeast: 0.55 },
    ],
  }
}

function createWaitlistPath({ api, baselines: { servers }, stores }: Testbed): MeasuredPath {
  const runId = randomBytes(4).toString('hex')
  let personCount = 0
  const next = () => {
    personCount += 1
    return formatPost('/api/waitlist', { email: `person.${runId}.${personCount}@example.org` })
  }
  return {
    name: 'waitlist',
    title: '`POST /api/waitlist` on Postgres',
    boundBy: 'store',
    ours: createTarget(api, next, 201),
    comparisons: [
      { baseline: 'koa-insert', target: createTarget(servers['koa-insert'], next, 201), atLeast: 0.4 },
    ],
    cleanUp: stores.deleteMails,
  }
}

/** Creates the path that measures typical questions of one sentence each. */
function createOrdinaryAnswersPath({ api }: Testbed): MeasuredPath {
  const questions = [
    'When do I renew my green card?',
    'How long does a work permit take after I send the form?',
    'Can I travel while my adjustment of status is pending?',
    'Which papers do I need to sponsor my wife?',
  ]
  let questionIndex = 0
  const takeQuestion = () => questions[questionIndex++ % questions.length]
  return {
    name: 'answer',
    title: '`POST /api/answers`, ordinary questions',
    boundBy: 'server',
    ours: createTarget(
      api,
      cycleAddresses(() => formatPost('/api/answers', { question: takeQuestion() })),
    ),
    comparisons: [],
  }
}

/**
 * Creates the path that measures the most expensive known question. It has the maximum length, and consists of the words that
 * begin the most patterns.
 */
function createWorstAnswerPath({ api }: Testbed): MeasuredPath {
  const question = 'my brother he '.repeat(72).slice(0, 1_000)
  return {
    name: 'answer-worst',
    title: '`POST /api/answers`, the worst 1,000 characters known',
    boundBy: 'server',
    ours: createTarget(
      api,
      cycleAddresses(() => formatPost('/api/answers', { question })),
    ),
    comparisons: [],
  }
}

const formatPost = (path: string, body: object) =>
  formatRequest('POST', path, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const createTarget = (
  { port, pid }: Pick<Target, 'port' | 'pid'>,
  next: Target['next'],
  status = 200,
): Target => ({
  port,
  pid,
  next,
  status,
})
