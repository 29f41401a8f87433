import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { freePorts } from '@plainpath/http/free-ports'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { startApp } from '@plainpath/stack/start-app'
import { startPrometheus } from '@plainpath/stack/start-prometheus'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { ASKED } from '../pages/site-pages.ts'
import { basic, form, json, type Sender } from '../send.ts'
import { openSystem, type RegisteredAgent, type System } from './open-system.ts'

const infra = (file: string) => fileURLToPath(new URL(`../../infra/${file}`, import.meta.url))
const readDocs = (file: string) => readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')
const Dashboard = z.looseObject({
  panels: z.array(
    z.looseObject({ title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })).min(1) }),
  ),
})
const QUERIES = Dashboard.parse(
  JSON.parse(readFileSync(infra('grafana/dashboards/plainpath.json'), 'utf8')),
).panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })))

const ALERTS = Array.from(
  readFileSync(infra('prometheus/rules.yaml'), 'utf8').matchAll(/expr: (?:\|\n((?: {10}.*\n)+)|(.+))/g),
).map(([, block, line]) => block ?? line ?? '')
/** Metrics of other programs. */
const FOREIGN = /^kube_/
const WORDS =
  /^(abs|absent|and|or|unless|by|on|sum|min|max|count|rate|increase|time|offset|histogram_quantile)$/
/** Finds the metrics of a query: words that are not keywords, labels or values. */
const metricsIn = (query: string): string[] =>
  query
    .replaceAll(/\{[^}]*\}|\bby \([^)]*\)|\[[^\]]*\]|"[^"]*"/g, ' ')
    .match(/[a-z_][a-z0-9_]*/g)
    ?.filter((word) => !WORDS.test(word)) ?? []

/** The metrics in the table of docs/telemetry.md; those of Node.js by their prefixes. */
const NAMED = readDocs('telemetry.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((row) => row.split('|')[1]?.match(/(?<=`)[a-z_]+[a-z](?=[{`])/g) ?? [])
const OF_NODE = /^(nodejs|process)_/

const Answer = z.object({
  status: z.literal('success'),
  data: z.object({
    result: z.array(
      z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) }),
    ),
  }),
})

const resources = new AsyncDisposableStack()
let system: System
let url: string
let promtool: string
const ask = async (expr: string) => {
  const response = await fetch(`${url}/api/v1/query?query=${encodeURIComponent(expr)}`)
  return Answer.parse(await response.json()).data.result
}

const revoke = (sender: Sender, { client_id: id, client_secret: secret }: RegisteredAgent, token: string) => {
  const sent = form({ token })
  return sender.send({
    method: 'POST',
    path: '/oauth/revoke',
    ...sent,
    headers: { ...sent.headers, ...basic(id, secret) },
  })
}

beforeAll(async () => {
  const programs = await findDebianPrograms(['prometheus', 'promtool'], process.env['PATH'] ?? '')
  promtool = programs.promtool
  system = resources.use(await openSystem())
  const { stack, folder } = system
  const [port = 0, ...ports] = await freePorts(4)
  const [open = 0, operations = 0, internal = 0] = ports
  const waiting = resources.use(
    await startApp({
      ...{ app: 'auth', number: 3, folder, ports: { public: open, operations, internal } },
      env: { ...stack.env, AUTH_DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none' },
      readyLine: '"msg":"the app waits for its startup dependencies"',
    }),
  )
  const apps = { auth: [...stack.auth, waiting], resource: stack.resource }
  const options = { program: programs.prometheus, port, folder, apps, scrapeSeconds: 1 }
  url = resources.use(await startPrometheus(options)).url
}, 120_000)
afterAll(() => resources.disposeAsync())

describe('promtool', () => {
  const run = (...args: string[]) => promisify(execFile)(promtool, args)

  test('finds no mistake in the scrape configuration and the alerts', async () => {
    expect((await run('check', 'config', infra('prometheus/prometheus.yaml'))).stdout).toContain('SUCCESS')
  })

  test('finds no mistake in the scrape configuration of docs/kubernetes.md', async () => {
    const [, snippet = ''] = /```\n(rule_files:[^]*?)```/.exec(readDocs('kubernetes.md')) ?? []
    const file = path.join(system.folder, 'kubernetes.yaml')
    await copyFile(infra('prometheus/rules.yaml'), path.join(system.folder, 'rules.yaml'))
    // Debian's promtool is built without service discovery for Kubernetes.
    await writeFile(
      file,
      snippet.replace(/kubernetes_sd_configs: .*/, 'static_configs: [{ targets: [pod] }]'),
    )
    expect((await run('check', 'config', file)).stdout).toContain('SUCCESS')
  })

  test('finds that each alert fires for its series and not for the others', async () => {
    const files = ['rules.test.yaml', 'rules-over-hours.test.yaml'].map((name) => infra(`prometheus/${name}`))
    expect((await run('test', 'rules', ...files)).stdout.match(/SUCCESS/g)).toHaveLength(2)
  }, 300_000)
})

describe('a Prometheus that scrapes every instance', () => {
  beforeAll(async () => {
    const sender = system.client({ from: '127.0.0.40' })
    const work = async () => {
      const agent = await system.register(sender)
      const token = await system.token(agent, sender)
      const headers = { Authorization: `Bearer ${token}` }
      for (let times = 0; times < 3; times += 1) await sender.send({ path: '/api/guides', headers })
      await revoke(sender, agent, token)
      await sender.send({ path: '/api/guides' })
      await sender.send({ path: '/api/nothing' })
      await sender.send({ method: 'POST', path: '/api/waitlist', ...json({ email: system.newEmail() }) })
      for (const question of Object.values(ASKED))
        await sender.send({ method: 'POST', path: '/api/answers', ...json({ question }) })
    }
    // A rate needs two scrapes of each instance with a change between them.
    const seen = [
      'sum(rate(tokens_issued_total[5m])) > 0',
      'sum(rate(limit_decisions_total[5m])) > 0',
      'sum(rate(http_request_duration_seconds_count{route="/api/agent/register",status="201"}[5m])) > 0',
      'sum(rate(introspection_cache_hits_total[5m])) > 0',
      'sum(rate(revocation_announcement_seconds_count[5m])) > 0',
      'sum(rate(mails_settled_total{service="resource",outcome="sent"}[5m])) > 0',
      'count(count by (service) (rate(http_request_duration_seconds_count[5m]) > 0)) == 2',
    ]
    await vi.waitFor(
      async () => {
        await work()
        for (const expr of seen) if ((await ask(expr)).length !== 1) throw new Error(`not yet: ${expr}`)
      },
      { timeout: 90_000, interval: 300 },
    )
  }, 120_000)

  test('reaches all four instances, and one that waits for its startup dependencies', async () => {
    expect((await ask('up == 1')).length).toBe(5)
    expect((await ask('waiting_to_start == 1')).length).toBe(1)
  })

  test.for(QUERIES)('has data for the dashboard: $title, $expr', async ({ expr }) => {
    const result = await ask(expr)
    expect(result.filter(({ value }) => Number.isFinite(Number(value[1]))).length).toBeGreaterThan(0)
  })

  test('has every metric that docs/telemetry.md names', async () => {
    expect(NAMED.length).toBeGreaterThan(8)
    for (const name of NAMED) expect(await ask(`count({__name__=~"${name}(_count)?"})`), name).toHaveLength(1)
  })

  test('has no metric that docs/telemetry.md does not name', async () => {
    const { data } = (await (await fetch(`${url}/api/v1/metadata`)).json()) as { data: object }
    const exported = Object.keys(data).filter((name) => !OF_NODE.test(name))
    expect(exported.length).toBeGreaterThan(8)
    expect(exported.filter((name) => !NAMED.includes(name))).toEqual([])
  })

  test('has the metric of each sweep', async () => {
    const since = await ask('count by (service, sweep) (retention_last_success_timestamp_seconds) == 2')
    const sweeps = since.map(({ metric: { service, sweep } }) => `${service} ${sweep}`)
    expect(sweeps.toSorted()).toEqual([
      'auth claims',
      'auth ended secrets',
      'auth expired agents',
      'auth identity assertions',
      'auth mails',
      'auth sign-ins',
      'auth spent assertions',
      'auth unused agents',
      'auth unused apps',
      'resource links and messages',
      'resource mails',
    ])
  })

  test('has every metric that an alert uses', async () => {
    const response = (await (await fetch(`${url}/api/v1/label/__name__/values`)).json()) as { data: string[] }
    const asked = new Set(ALERTS.flatMap(metricsIn).filter((name) => !FOREIGN.test(name)))
    expect(asked.size).toBeGreaterThan(15)
    expect([...asked].filter((name) => !response.data.includes(name))).toEqual([])
  })

  test('has loaded every rule, and no alert fires', async () => {
    const response = (await (await fetch(`${url}/api/v1/rules`)).json()) as {
      data: { groups: { rules: { name: string; health: string; state: string }[] }[] }
    }
    const rules = response.data.groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(10)
    expect(rules.filter(({ health, state }) => health === 'err' || state === 'firing')).toEqual([])
  })
})
