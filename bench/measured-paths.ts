import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { cycle, requestBytes, type Target } from './load/target.ts'
import { boundRequests } from './testbed/bound-requests.ts'
import { AGENT_NAME, type AgentWithToken, issueToken } from './testbed/make-agents.ts'
import type { Stores } from './testbed/open-stores.ts'
import { basic, FORM, READING } from './testbed/send-request.ts'
import type { BaselineName, Baselines } from './testbed/start-baselines.ts'
import type { App } from './testbed/start-measured-app.ts'

/** One row of the result: the measured path, and the baselines that it is compared with. */
export interface MeasuredPath {
  readonly name: string
  readonly title: string
  /** What saturates first. If the server should but is not busy, the measurement is invalid. */
  readonly boundBy: 'server' | 'store'
  readonly ours: Target
  readonly beside: readonly Comparison[]
  /** Removes deferred work, such as mails, after each measurement of ours. */
  readonly tidy?: () => Promise<void>
}

export interface Comparison {
  /** `bearer` is the API itself, for the same read with a bearer token; `before` is the same path of another commit. */
  readonly baseline: BaselineName | 'bearer' | 'before'
  readonly target: Target
  /** The target for the ratio of throughputs, ours to theirs; undefined if there is none. */
  readonly atLeast?: number
  /** As that of the path, after each measurement of this target. */
  readonly tidy?: MeasuredPath['tidy']
}

export const GUIDES = '/api/guides'
export const GUIDE = '/api/guides/work-permit'
/** So few that their introspections, each every 30 s, do not affect the measured reads. */
const CACHED_TOKENS = 200
const INTROSPECTION_TYPE = 'application/token-introspection+jwt'

export interface Parts {
  readonly auth: App
  readonly api: App
  readonly baselines: Baselines
  readonly agents: readonly AgentWithToken[]
  readonly stores: Stores
}

export async function measuredPaths(parts: Parts): Promise<MeasuredPath[]> {
  return [
    readGuides(parts),
    readGuide(parts),
    readGuideBound(parts),
    issue(parts),
    await introspect(parts),
    register(parts),
    join(parts),
    answerOrdinary(parts),
    answerWorst(parts),
  ]
}

const get = (path: string, headers: Record<string, string> = {}) =>
  requestBytes('GET', path, { headers: { ...READING, ...headers } })
/** Creates requests from a thousand addresses in turn. */
const fromEverywhere = (make: () => Buffer) => cycle(Array.from({ length: 1_000 }, make))

function readGuides({ api, baselines: { servers } }: Parts): MeasuredPath {
  const next = fromEverywhere(() => get(GUIDES))
  return {
    name: 'guides',
    title: '`GET /api/guides`, public',
    boundBy: 'server',
    ours: target(api, next),
    beside: [
      { baseline: 'koa-bare', target: target(servers['koa-bare'], next), atLeast: 0.85 },
      { baseline: 'node-http', target: target(servers['node-http'], next) },
    ],
  }
}

const bearer = (token: string) => get(GUIDE, { authorization: `Bearer ${token}` })
const cachedReads = ({ api, agents }: Parts) =>
  target(api, cycle(agents.slice(0, CACHED_TOKENS).map(({ token }) => bearer(token))))

function readGuide(parts: Parts): MeasuredPath {
  const { servers, jwt } = parts.baselines
  const next = fromEverywhere(() => bearer(jwt))
  return {
    name: 'guide-bearer',
    title: '`GET /api/guides/{slug}`, cached bearer token',
    boundBy: 'server',
    ours: cachedReads(parts),
    beside: [
      { baseline: 'koa-bare', target: target(servers['koa-bare'], next), atLeast: 0.7 },
      { baseline: 'koa-jwt', target: target(servers['koa-jwt'], next), atLeast: 4 },
    ],
  }
}

/** What a proof costs: its signature is verified, and it is stored as used in Redis. */
function readGuideBound(parts: Parts): MeasuredPath {
  const { auth, api, agents } = parts
  const requests = boundRequests({ auth, agents: agents.slice(0, CACHED_TOKENS), path: GUIDE })
  return {
    name: 'guide-dpop',
    title: '`GET /api/guides/{slug}`, cached token bound to a key',
    boundBy: 'server',
    ours: { ...target(api, requests.next), prepare: requests.prepare },
    beside: [{ baseline: 'bearer', target: cachedReads(parts) }],
  }
}

function issue({ auth, baselines: { servers, client }, agents }: Parts): MeasuredPath {
  const grant = (path: string, id: string, secret: string) =>
    requestBytes('POST', path, {
      headers: { ...FORM, ...basic(id, secret) },
      body: 'grant_type=client_credentials',
    })
  const theirs = fromEverywhere(() => grant('/token', client.id, client.secret))
  return {
    name: 'token',
    title: '`POST /oauth/token` on Redis',
    boundBy: 'server',
    ours: target(auth, cycle(agents.map(({ id, secret }) => grant('/oauth/token', id, secret)))),
    beside: [{ baseline: 'oidc-bare', target: target(servers['oidc-bare'], theirs), atLeast: 0.9 }],
  }
}

async function introspect({ auth, baselines, agents, stores }: Parts): Promise<MeasuredPath> {
  const { servers, client } = baselines
  const asking = (path: string, headers: Record<string, string>, presented: string) =>
    requestBytes('POST', path, { headers: { ...FORM, ...headers }, body: `token=${presented}` })
  const apiSecret = await readFile(stores.env['RESOURCE_CLIENT_SECRET_FILE'] ?? '', 'utf8')
  const api = {
    ...basic(stores.env['RESOURCE_CLIENT_ID'] ?? '', apiSecret.trim()),
    accept: INTROSPECTION_TYPE,
  }
  const theirs: Buffer[] = []
  while (theirs.length < agents.length) {
    const token = await issueToken(servers['oidc-bare'].port, '/token', client)
    theirs.push(asking('/token/introspection', basic(client.id, client.secret), token))
  }
  return {
    name: 'introspect',
    title: '`POST /oauth/introspect`, signed',
    boundBy: 'server',
    ours: target(
      { port: auth.internalPort, pid: auth.pid },
      cycle(agents.map(({ token }) => asking('/oauth/introspect', api, token))),
    ),
    beside: [{ baseline: 'oidc-bare', target: target(servers['oidc-bare'], cycle(theirs)), atLeast: 0.5 }],
  }
}

function register({ auth, baselines: { servers } }: Parts): MeasuredPath {
  const next = fromEverywhere(() => posted('/api/agent/register', { client_name: AGENT_NAME }))
  return {
    name: 'register',
    title: '`POST /api/agent/register` on Postgres',
    boundBy: 'store',
    ours: target(auth, next, 201),
    beside: [{ baseline: 'koa-insert', target: target(servers['koa-insert'], next, 201), atLeast: 0.7 }],
  }
}

function join({ api, baselines: { servers }, stores }: Parts): MeasuredPath {
  const run = randomBytes(4).toString('hex')
  let number = 0
  const next = () => {
    number += 1
    return posted('/api/waitlist', { email: `person.${run}.${number}@example.org` })
  }
  return {
    name: 'waitlist',
    title: '`POST /api/waitlist` on Postgres',
    boundBy: 'store',
    ours: target(api, next, 201),
    beside: [{ baseline: 'koa-insert', target: target(servers['koa-insert'], next, 201), atLeast: 0.7 }],
    tidy: stores.forgetMails,
  }
}

/** A typical question: one sentence. */
function answerOrdinary({ api }: Parts): MeasuredPath {
  const questions = [
    'When do I renew my green card?',
    'How long does a work permit take after I send the form?',
    'Can I travel while my adjustment of status is pending?',
    'Which papers do I need to sponsor my wife?',
  ]
  let questionIndex = 0
  const next = () => questions[questionIndex++ % questions.length]
  return {
    name: 'answer',
    title: '`POST /api/answers`, ordinary questions',
    boundBy: 'server',
    ours: target(
      api,
      fromEverywhere(() => posted('/api/answers', { question: next() })),
    ),
    beside: [],
  }
}

/** The most expensive known question: of the largest length, with the words that begin the most patterns. */
function answerWorst({ api }: Parts): MeasuredPath {
  const question = 'my brother he '.repeat(72).slice(0, 1_000)
  return {
    name: 'answer-worst',
    title: '`POST /api/answers`, the worst 1,000 characters known',
    boundBy: 'server',
    ours: target(
      api,
      fromEverywhere(() => posted('/api/answers', { question })),
    ),
    beside: [],
  }
}

const posted = (path: string, body: object) =>
  requestBytes('POST', path, {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })

const target = ({ port, pid }: Pick<Target, 'port' | 'pid'>, next: Target['next'], status = 200): Target => ({
  port,
  pid,
  next,
  status,
})
