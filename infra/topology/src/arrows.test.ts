import { readFileSync } from 'node:fs'
import { APP_NAMES } from '@plainpath/metadata'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { ARROWS, WORKLOADS } from './arrows.ts'
import { readPods } from './pods.ts'
import { networksOf, readCompose, readManifests, workloadOf } from './read-manifests.ts'
import { LEFT_AT_DEFAULT, SETTINGS_OF } from './settings-of.ts'

const NAME = 'app.kubernetes.io/name'
const Peer = z.strictObject({
  namespaceSelector: z
    .strictObject({ matchLabels: z.strictObject({ 'kubernetes.io/metadata.name': z.string() }) })
    .optional(),
  podSelector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
})
const Ports = z.array(z.strictObject({ protocol: z.enum(['TCP', 'UDP']), port: z.int() })).min(1)
const Policy = z.strictObject({
  podSelector: z.strictObject({ matchLabels: z.strictObject({ [NAME]: z.string() }).optional() }),
  policyTypes: z.tuple([z.literal('Ingress'), z.literal('Egress')]),
  ingress: z.array(z.strictObject({ from: z.array(Peer).min(1).optional(), ports: Ports })).default([]),
  egress: z.array(z.strictObject({ to: z.array(Peer).min(1), ports: Ports })).default([]),
})

const policies = () =>
  readManifests()
    .map(({ manifest }) => manifest)
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ metadata, ...manifest }) => ({ name: metadata.name, ...Policy.parse(manifest['spec']) }))

const ours = (name: string) => (WORKLOADS as readonly string[]).includes(name)
const written = ({ from, to, port }: { from: string; to: string; port: number }) => `${from} -> ${to}:${port}`
const namesOf = (peers: readonly z.infer<typeof Peer>[] | undefined) =>
  peers?.map(({ podSelector }) => podSelector.matchLabels[NAME] ?? '') ?? ['world']

test('network policies let in what the arrows say, and nothing else', () => {
  const allowed = policies().flatMap(({ name, ingress }) =>
    ingress.flatMap(({ from, ports }) =>
      namesOf(from).flatMap((peer) => ports.map(({ port }) => written({ from: peer, to: name, port }))),
    ),
  )
  const drawn = ARROWS.filter(({ to }) => ours(to)).map(written)
  expect(allowed.toSorted()).toEqual(drawn.toSorted())
})

test('network policies let out what the arrows say, and questions to DNS', () => {
  const allowed = policies()
    .filter(({ name }) => name !== 'default')
    .flatMap(({ name, egress }) =>
      egress.flatMap(({ to, ports }) =>
        namesOf(to).flatMap((peer) => ports.map(({ port }) => written({ from: name, to: peer, port }))),
      ),
    )
  const drawn = ARROWS.filter(({ from }) => ours(from)).map(written)
  expect(allowed.toSorted()).toEqual(drawn.toSorted())
  const [everybody, ...others] = policies().filter(({ name }) => name === 'default')
  expect(others).toEqual([])
  expect(everybody?.podSelector).toEqual({})
  expect(everybody?.ingress).toEqual([])
  expect(everybody?.egress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([53, 53])
})

test('each policy is for the pods of its name, and each pod has one', () => {
  const labels = readPods().map(({ name, label }) => {
    expect(label).toBe(name)
    return name
  })
  expect(labels.toSorted()).toEqual([...WORKLOADS].toSorted())
  for (const { name, podSelector } of policies().filter((policy) => policy.name !== 'default'))
    expect(podSelector.matchLabels).toEqual({ [NAME]: name })
})

test('peers in other namespaces are named with their namespace', () => {
  const peers = policies().flatMap(({ ingress, egress }) => [
    ...ingress.flatMap(({ from = [] }) => from),
    ...egress.flatMap(({ to }) => to),
  ])
  for (const { namespaceSelector, podSelector } of peers)
    expect(namespaceSelector === undefined, JSON.stringify(podSelector)).toBe(
      ours(podSelector.matchLabels[NAME] ?? ''),
    )
})

test('services of compose.yaml share a network exactly where there is an arrow', () => {
  const { services } = readCompose()
  const ends = Object.entries(services).map(([name, service]) => ({
    name: COMPOSE_ONLY[workloadOf(name)] ?? workloadOf(name),
    networks: networksOf(service),
  }))
  const pair = (one: string, other: string) => [one, other].toSorted().join(' + ')
  const shared = ends.flatMap((one, index) =>
    ends
      .slice(index + 1)
      .filter((other) => other.networks.some((network) => one.networks.includes(network)))
      .filter((other) => appOf(one.name) === undefined || appOf(one.name) !== appOf(other.name))
      .map((other) => pair(one.name, other.name)),
  )
  const drawn = ARROWS.filter(({ from }) => from !== 'world').map(({ from, to }) => pair(from, to))
  expect([...new Set(shared)].toSorted()).toEqual([...new Set(drawn)].toSorted())
})

/** Services that do once what a Job of Kubernetes does with two containers. */
const COMPOSE_ONLY: Readonly<Record<string, string>> = { 'resource-guides': 'resource-migrate' }
const appOf = (name: string) => /^(auth|resource)(-|$)/.exec(name)?.[1]

test('only what people open is on a network that leads out of the machine', () => {
  const { services, networks } = readCompose()
  for (const [name, service] of Object.entries(services)) {
    const open = networksOf(service).filter((network) => networks[network]?.internal !== true)
    if (service.ports.length === 0 && name !== 'prometheus') expect(open, name).toEqual([])
    for (const port of service.ports) expect(port, name).toMatch(/^127\.0\.0\.1:/)
  }
})

test('a setting that names another process has an arrow, and every arrow a setting that is one', () => {
  const urls = APP_NAMES.flatMap((app) => SETTINGS_OF[app].map(({ name }) => name)).filter((name) =>
    name.endsWith('_URL'),
  )
  const named = ARROWS.map(({ setting }) => setting).filter((setting) => setting !== undefined)
  for (const name of urls.filter((each) => !(each in LEFT_AT_DEFAULT)))
    expect(named, `${name} has no arrow in arrows.ts`).toContain(name)
  for (const name of named) expect(urls).toContain(name)
})

test('the picture in docs/architecture.md has an arrow for each port of the apps, and for mail', () => {
  const text = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8')
  const drawn = Array.from(
    text.matchAll(/^ {2}(\w+) (?:-->|-\.->)\|(\d+)[^|]*\| (\w+)$/gm),
    ([, from = '', port, to = '']) => written({ from, to, port: Number(port) }),
  )
  const ofApps = ARROWS.filter(({ to }) => ['auth', 'resource', 'mail'].includes(to)).map(written)
  expect(drawn.toSorted()).toEqual(ofApps.toSorted())
})
