import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { CONNECTIONS } from './arrows.ts'
import { readPods } from './pods.ts'
import { parseWorkload, readInfra } from './read-manifests.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const Rule = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(['page', 'ticket']) }),
  annotations: z.strictObject({ summary: z.string(), runbook: z.string() }),
})
const Rules = z.strictObject({
  groups: z.array(z.strictObject({ name: z.string(), rules: z.array(Rule) })),
})
const rules = Rules.parse(parse(readInfra('prometheus/rules.yaml'))).groups.flatMap((group) => group.rules)

test.for(rules)('the alert $alert names a runbook that exists', ({ annotations }) => {
  expect(annotations.runbook).toMatch(/^docs\/runbooks\/[a-z-]+\.md$/)
  expect(existsSync(path.join(root, annotations.runbook)), annotations.runbook).toBe(true)
})

test.for(rules)('the runbook of the alert $alert mentions it', ({ alert, annotations }) => {
  expect(readFileSync(path.join(root, annotations.runbook), 'utf8')).toContain(`\`${alert}\``)
})

/** A file of tests for `promtool`. A test with an empty list `exp_alerts` expects that the alert does not fire. */
interface AlertTests {
  readonly tests: readonly { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]
}

test('each alert has a series that raises it and another that does not', () => {
  const files = ['rules.test.yaml', 'rules-over-hours.test.yaml']
  const tests = files.flatMap((name) => (parse(readInfra(`prometheus/${name}`)) as AlertTests).tests)
  const alertTests = tests.flatMap(({ alert_rule_test: alertTest }) => alertTest)
  const listTestedAlerts = (isRaised: boolean) => {
    const matchingTests = alertTests.filter(({ exp_alerts: alerts }) => alerts.length > 0 === isRaised)
    return [...new Set(matchingTests.map(({ alertname }) => alertname))].toSorted()
  }
  const allAlerts = rules.map(({ alert }) => alert).toSorted()
  expect(listTestedAlerts(true)).toEqual(allAlerts)
  expect(listTestedAlerts(false)).toEqual(allAlerts)
})

/** The operations listeners that Prometheus may scrape, as `workload:port`. */
const EXPECTED_TARGETS = CONNECTIONS.filter(({ from }) => from === 'prometheus')
  .map(({ to, port }) => `${to}:${port}`)
  .toSorted()

test('Prometheus scrapes exactly the operations listeners that arrows.ts lists', () => {
  const { scrape_configs: jobs } = parse(readInfra('prometheus/prometheus.yaml')) as {
    scrape_configs: { job_name: string; static_configs: { targets: string[] }[] }[]
  }
  const scrapedTargets = jobs.flatMap(({ job_name: job, static_configs: configs }) =>
    configs.flatMap(({ targets }) =>
      targets.map((target) => {
        const [host = '', port] = target.split(':')
        expect(parseWorkload(host)).toBe(job)
        return `${job}:${port}`
      }),
    ),
  )
  expect([...new Set(scrapedTargets)].toSorted()).toEqual(EXPECTED_TARGETS)
})

test('the scrape configuration of docs/kubernetes.md selects exactly the listeners that arrows.ts lists', () => {
  const page = readFileSync(path.join(root, 'docs/kubernetes.md'), 'utf8')
  const [, portName] = /container_port_name\], regex: (\S+), action: keep/.exec(page) ?? []
  const selectedTargets = readPods().flatMap(({ label, containers }) =>
    containers
      .flatMap(({ ports }) => ports)
      .filter(({ name }) => name === portName)
      .map(({ containerPort }) => `${label}:${containerPort}`),
  )
  expect(selectedTargets.toSorted()).toEqual(EXPECTED_TARGETS)
})
