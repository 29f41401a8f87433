import { mkdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
// oxlint-disable-next-line no-restricted-imports -- the graphs show real time
import { setTimeout as pause } from 'node:timers/promises'
import { reserveFreePorts } from '@plainpath/http/free-ports'
import { createTemporaryFolder } from '@plainpath/stack/create-temporary-folder'
import { findDebianPrograms } from '@plainpath/stack/debian-program'
import { startMailbox } from '@plainpath/stack/start-mailbox'
import { startPrometheus } from '@plainpath/stack/start-prometheus'
import { type Stack, startStack } from '@plainpath/stack/start-stack'
import { z } from 'zod'
import { basic, createSender, form, json, type Sender } from '../send.ts'
import { drawGraph, type Series } from './draw-graph.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const FOLDER = path.join(ROOT, 'docs/graphs')
/** The text after each number, by the unit of the panel in Grafana. */
const UNITS: Readonly<Record<string, string>> = { s: ' s', reqps: '/s', cps: '/s' }
/** The titles of the dashboard panels that become graphs. */
const PANELS = [
  'Answers by status',
  'Time to answer, p50 and p99',
  'How introspections are answered',
  'APIs with a lease, subscribers removed',
  'Limits by decision',
  'Mail settled and tried again',
]
const SENDER_COUNT = 6
const CALM_MS = 60_000
const OUTAGE_MS = 15_000
/** The graphs omit the beginning of the run, when rates have too few samples. */
const WARM_UP_SECONDS = 10

const Dashboard = z.looseObject({
  panels: z.array(
    z.looseObject({
      title: z.string(),
      fieldConfig: z.looseObject({ defaults: z.looseObject({ unit: z.string() }) }),
      targets: z.array(z.looseObject({ expr: z.string(), legendFormat: z.string() })),
    }),
  ),
})
const QueryResponse = z.object({
  data: z.object({
    result: z.array(
      z.object({
        metric: z.record(z.string(), z.string()),
        values: z.array(z.tuple([z.number(), z.string()])),
      }),
    ),
  }),
})

/** Repeats an agent's journey until `stop` is aborted. Pauses after a failed one, for example while Redis is stopped. */
async function repeatJourney(sender: Sender, stop: AbortSignal): Promise<void> {
  for (let round = 0; !stop.aborted; round += 1) {
    try {
      await runJourney(sender, round)
    } catch {
      await pause(200)
    }
  }
}

async function runJourney(sender: Sender, round: number): Promise<void> {
  const agent = await sender.send({ method: 'POST', path: '/api/agent/register', ...json({}) })
  const { client_id: id, client_secret: secret } = JSON.parse(agent.text) as Record<string, string>
  const credentials = basic(id ?? '', secret ?? '')
  const post = (endpoint: string, fields: Record<string, string>) => {
    const content = form(fields)
    return sender.send({
      method: 'POST',
      path: endpoint,
      ...content,
      headers: { ...content.headers, ...credentials },
    })
  }
  const { access_token: token = '' } = JSON.parse(
    (await post('/oauth/token', { grant_type: 'client_credentials' })).text,
  ) as Record<string, string>
  if (!token) throw new Error('no token: the store is unavailable')
  for (let readCount = 0; readCount < 10; readCount += 1) {
    await sender.send({ path: '/api/guides', headers: { Authorization: `Bearer ${token}` } })
    await pause(60)
  }
  if (round % 3 === 0)
    await sender.send({
      method: 'POST',
      path: '/api/waitlist',
      ...json({ email: `graph.${crypto.randomUUID()}@canary.example.org` }),
    })
  await post('/oauth/revoke', { token })
}

/** Interrupts an API process and then Redis for 15 s each, with calm times before, between and after. */
async function causeEvents({ resource, redis }: Stack): Promise<void> {
  await pause(CALM_MS)
  await resource[1]?.stop('SIGKILL')
  await pause(OUTAGE_MS)
  await resource[1]?.start()
  await pause(CALM_MS / 2)
  await redis.stop('SIGTERM')
  await pause(OUTAGE_MS)
  await redis.start()
  await pause(CALM_MS)
}

// Runs the stack under load, interrupts an API process and Redis, and draws panels of the dashboard into `docs/graphs`.
await using resources = new AsyncDisposableStack()
const { path: folder } = resources.use(await createTemporaryFolder('graphs'))
const { prometheus } = await findDebianPrograms(['prometheus'], process.env['PATH'] ?? '')
const [mailPort = 0, port = 0] = await reserveFreePorts(2)
const { smtpUrl } = resources.use(await startMailbox(mailPort))
const settings = { AUTH_SMTP_URL: smtpUrl, RESOURCE_SMTP_URL: smtpUrl }
const stack = resources.use(await startStack({ folder, settings }))
const { url } = resources.use(
  await startPrometheus({ program: prometheus, port, folder, instances: stack, scrapeSeconds: 1 }),
)
const stopController = new AbortController()
const startedAtSeconds = Date.now() / 1000
const senders = Array.from({ length: SENDER_COUNT }, (_, index) =>
  createSender(stack.origin, { from: `127.0.0.${50 + index}` }),
)
const journeys = senders.map((sender) => repeatJourney(sender, stopController.signal))
await causeEvents(stack)
stopController.abort()
await Promise.all(journeys)
for (const sender of senders) sender[Symbol.dispose]()

const { panels } = Dashboard.parse(
  JSON.parse(await readFile(path.join(ROOT, 'infra/grafana/dashboards/plainpath.json'), 'utf8')),
)
await mkdir(FOLDER, { recursive: true })
for (const { title, fieldConfig, targets } of panels.filter((panel) => PANELS.includes(panel.title))) {
  const series: Series[] = []
  for (const { expr, legendFormat } of targets) {
    // The run is too short for rates over five minutes, and for increases over an hour.
    const query = expr.replaceAll('[5m]', '[10s]').replaceAll('[1h]', '[1m]')
    const range = new URLSearchParams({
      query,
      start: String(startedAtSeconds + WARM_UP_SECONDS),
      end: String(Date.now() / 1000),
      step: '2',
    })
    const { data } = QueryResponse.parse(await (await fetch(`${url}/api/v1/query_range?${range}`)).json())
    for (const { metric, values } of data.result) {
      const name = legendFormat.replaceAll(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '')
      series.push({ name, points: values.map(([time, value]) => [time, Number(value)] as const) })
    }
  }
  const nonZeroSeries = series.filter(({ points }) => points.some(([, value]) => value > 0))
  const fileName = `${title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-')}.svg`
  await writeFile(
    path.join(FOLDER, fileName),
    drawGraph(title, UNITS[fieldConfig.defaults.unit] ?? '', nonZeroSeries),
  )
  process.stdout.write(`${fileName}\n`)
}
