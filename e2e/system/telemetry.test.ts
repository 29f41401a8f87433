import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { startApp } from '@plainpath/stack/start-app'
import { startPrometheus } from '@plainpath/stack/start-prometheus'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { EXAMPLE_QUESTIONS } from '../pages/site-pages.ts'
import { basic, form, json, type Sender } from '../send.ts'
import { openSystem, type RegisteredAgent, type System } from './open-system.ts'

/*
 * Tests a real Prometheus and the real alert rules, dashboard and documentation: every metric that they name exists, and every
 * metric that exists is documented. `rules.test.yaml` and `rules-over-hours.test.yaml` test when each alert fires.
 */

const toInfraPath = (file: string) => fileURLToPath(new URL(`../../infra/${file}`, import.meta.url))
const readDocs = (file: string) => readFileSync(new URL(`../../docs/${file}`, import.meta.url), 'utf8')
const Dashboard = z.looseObject({
  panels: z.array(
    z.looseObject({ title: z.string(), targets: z.array(z.looseObject({ expr: z.string() })).min(1) }),
  ),
})
/** The queries of the dashboard, each with the title of its panel. */
const QUERIES = Dashboard.parse(
  JSON.parse(readFileSync(toInfraPath('grafana/dashboards/plainpath.json'), 'utf8')),
).panels.flatMap(({ title, targets }) => targets.map(({ expr }) => ({ title, expr })))

/**
 * The expressions of the alerts. In the YAML file, each is on the line of `expr:`, or in a block that is indented by ten spaces.
 */
const ALERTS = Array.from(
  readFileSync(toInfraPath('prometheus/rules.yaml'), 'utf8').matchAll(/expr: (?:\|\n((?: {10}.*\n)+)|(.+))/g),
).map(([, block, line]) => block ?? line ?? '')
/** Matches the metrics of other programs. */
const FOREIGN_METRIC = /^kube_/
/** Matches the keywords and functions of PromQL that the alerts use. */
const PROMQL_WORD =
  /^(abs|absent|and|or|unless|by|on|sum|min|max|count|rate|increase|time|offset|histogram_quantile)$/
/** Finds the metrics of a query: words that are not keywords, functions, labels or values. */
const findMetrics = (query: string): string[] =>
  query
    .replaceAll(/\{[^}]*\}|\bby \([^)]*\)|\[[^\]]*\]|"[^"]*"/g, ' ')
    .match(/[a-z_][a-z0-9_]*/g)
    ?.filter((word) => !PROMQL_WORD.test(word)) ?? []

/** The metrics that the table of docs/telemetry.md names, without those of Node.js. */
const DOCUMENTED_METRICS = readDocs('telemetry.md')
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .flatMap((row) => row.split('|')[1]?.match(/(?<=`)[a-z_]+[a-z](?=[{`])/g) ?? [])
/** Matches the metrics of Node.js. The table names them by their prefixes. */
const NODE_METRIC = /^(nodejs|process)_/

const QueryResponse = z.object({
  status: z.literal('success'),
  data: z.object({
    result: z.array(
      z.object({ metric: z.record(z.string(), z.string()), value: z.tuple([z.number(), z.string()]) }),
    ),
  }),
})

const resources = new AsyncDisposableStack()
let system: System
let prometheusUrl: string
let promtool: string
/** Queries Prometheus. Returns the series of the result. */
const queryPrometheus = async (expr: string) => {
  const response = await fetch(`${prometheusUrl}/api/v1/query?query=${encodeURIComponent(expr)}`)
  return QueryResponse.parse(await response.json()).data.result
}

const revoke = (sender: Sender, { client_id: id, client_secret: secret }: RegisteredAgent, token: string) => {
  const content = form({ token })
  return sender.send({
    method: 'POST',
    path: '/oauth/revoke',
    ...content,
    headers: { ...content.headers, ...basic(id, secret) },
  })
}

beforeAll(async () => {
  const programs = await findDebianPrograms(['prometheus', 'promtool'], process.env['PATH'] ?? '')
  promtool = programs.promtool
  system = resources.use(await openSystem())
  const { stack, folder } = system
  const [port = 0, ...ports] = await reserveFreePorts(4)
  const [publicPort = 0, operations = 0, internal = 0] = ports
  // Nothing listens on port 9, so this third instance of auth waits for its database, and never becomes ready.
  const waitingApp = resources.use(
    await startApp({
      app: 'auth',
      number: 3,
      folder,
      ports: { public: publicPort, operations, internal },
      env: { ...stack.env, AUTH_DATABASE_URL: 'postgresql://nobody@127.0.0.1:9/none' },
      readyLine: '"msg":"the app waits for its startup dependencies"',
    }),
  )
  const instances = { auth: [...stack.auth, waitingApp], resource: stack.resource }
  const options = { program: programs.prometheus, port, folder, instances, scrapeSeconds: 1 }
  prometheusUrl = resources.use(await startPrometheus(options)).url
}, 120_000)
afterAll(() => resources.disposeAsync())

describe('promtool', () => {
  const runPromtool = (...args: string[]) => promisify(execFile)(promtool, args)

  test('finds no mistake in the scrape configuration and the alerts', async () => {
    const { stdout } = await runPromtool('check', 'config', toInfraPath('prometheus/prometheus.yaml'))
    expect(stdout).toContain('SUCCESS')
  })

  test('finds no mistake in the scrape configuration of docs/kubernetes.md', async () => {
    const [, snippet = ''] = /```\n(rule_files:[^]*?)```/.exec(readDocs('kubernetes.md')) ?? []
    const file = path.join(system.folder, 'kubernetes.yaml')
    await copyFile(toInfraPath('prometheus/rules.yaml'), path.join(system.folder, 'rules.yaml'))
    // Debian's promtool is built without service discovery for Kubernetes.
    await writeFile(
      file,
      snippet.replace(/kubernetes_sd_configs: .*/, 'static_configs: [{ targets: [pod] }]'),
    )
    expect((await runPromtool('check', 'config', file)).stdout).toContain('SUCCESS')
  })

  test('runs the tests of the alert rules without a failure', async () => {
    const files = ['rules.test.yaml', 'rules-over-hours.test.yaml'].map((name) =>
      toInfraPath(`prometheus/${name}`),
    )
    expect((await runPromtool('test', 'rules', ...files)).stdout.match(/SUCCESS/g)).toHaveLength(2)
  }, 300_000)
})

describe('a Prometheus that scrapes every instance', () => {
  beforeAll(async () => {
    const sender = system.createSender({ from: '127.0.0.40' })
    const sendRequests = async () => {
      const agent = await system.register(sender)
      const token = await system.issueToken(agent, sender)
      const headers = { Authorization: `Bearer ${token}` }
      for (let read = 0; read < 3; read += 1) await sender.send({ path: '/api/guides', headers })
      await revoke(sender, agent, token)
      await sender.send({ path: '/api/guides' })
      await sender.send({ path: '/api/nothing' })
      await sender.send({ method: 'POST', path: '/api/waitlist', ...json({ email: system.createEmail() }) })
      for (const question of Object.values(EXAMPLE_QUESTIONS))
        await sender.send({ method: 'POST', path: '/api/answers', ...json({ question }) })
    }
    // A rate needs two scrapes of each instance with a change between them.
    const expectedQueries = [
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
        await sendRequests()
        for (const expr of expectedQueries)
          if ((await queryPrometheus(expr)).length !== 1) throw new Error(`not yet: ${expr}`)
      },
      { timeout: 90_000, interval: 300 },
    )
  }, 120_000)

  test('reaches all four instances, and one that waits for its startup dependencies', async () => {
    expect((await queryPrometheus('up == 1')).length).toBe(5)
    expect((await queryPrometheus('waiting_to_start == 1')).length).toBe(1)
  })

  test.for(QUERIES)('has data for the dashboard: $title, $expr', async ({ expr }) => {
    const result = await queryPrometheus(expr)
    expect(result.filter(({ value }) => Number.isFinite(Number(value[1]))).length).toBeGreaterThan(0)
  })

  test('has every metric that docs/telemetry.md names', async () => {
    expect(DOCUMENTED_METRICS.length).toBeGreaterThan(8)
    // The series of a histogram are named `…_count` and so on, and the table names the histogram.
    for (const name of DOCUMENTED_METRICS)
      expect(await queryPrometheus(`count({__name__=~"${name}(_count)?"})`), name).toHaveLength(1)
  })

  test('has only metrics that docs/telemetry.md names', async () => {
    const { data } = (await (await fetch(`${prometheusUrl}/api/v1/metadata`)).json()) as { data: object }
    const exportedMetrics = Object.keys(data).filter((name) => !NODE_METRIC.test(name))
    expect(exportedMetrics.length).toBeGreaterThan(8)
    expect(exportedMetrics.filter((name) => !DOCUMENTED_METRICS.includes(name))).toEqual([])
  })

  test('has the metric of each sweep, from two instances', async () => {
    const series = await queryPrometheus(
      'count by (service, sweep) (retention_last_success_timestamp_seconds) == 2',
    )
    const sweeps = series.map(({ metric: { service, sweep } }) => `${service} ${sweep}`)
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
    const response = (await (await fetch(`${prometheusUrl}/api/v1/label/__name__/values`)).json()) as {
      data: string[]
    }
    const usedMetrics = new Set(ALERTS.flatMap(findMetrics).filter((name) => !FOREIGN_METRIC.test(name)))
    expect(usedMetrics.size).toBeGreaterThan(15)
    expect([...usedMetrics].filter((name) => !response.data.includes(name))).toEqual([])
  })

  test('has loaded the rules without an error, and no alert fires', async () => {
    const response = (await (await fetch(`${prometheusUrl}/api/v1/rules`)).json()) as {
      data: { groups: { rules: { name: string; health: string; state: string }[] }[] }
    }
    const rules = response.data.groups.flatMap((group) => group.rules)
    expect(rules.length).toBeGreaterThan(10)
    expect(rules.filter(({ health, state }) => health === 'err' || state === 'firing')).toEqual([])
  })
})
