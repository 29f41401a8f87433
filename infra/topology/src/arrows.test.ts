import { readFileSync } from 'node:fs'
import { BlockList, isIPv6 } from 'node:net'
import { APP_NAMES } from '@plainpath/metadata'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { APP_SETTINGS, LEFT_AT_DEFAULT } from './app-settings.ts'
import { CONNECTIONS, WORKLOADS } from './arrows.ts'
import { readPods } from './pods.ts'
import { listNetworks, parseWorkload, readCompose, readManifests } from './read-manifests.ts'

/*
 * Compares the connections that `arrows.ts` lists with the network policies of Kubernetes, the networks of compose.yaml, the
 * settings of the apps and the picture in docs/architecture.md.
 */

const NAME_LABEL = 'app.kubernetes.io/name'
const PodPeer = z.strictObject({
  namespaceSelector: z
    .strictObject({ matchLabels: z.strictObject({ 'kubernetes.io/metadata.name': z.string() }) })
    .optional(),
  podSelector: z.strictObject({ matchLabels: z.record(z.string(), z.string()) }),
})
/** The public hosts of the internet: all addresses, except those of private networks. */
const WorldPeer = z.strictObject({
  ipBlock: z.strictObject({ cidr: z.enum(['0.0.0.0/0', '::/0']), except: z.array(z.string()) }),
})
const Peer = z.union([PodPeer, WorldPeer])
const Ports = z.array(z.strictObject({ protocol: z.enum(['TCP', 'UDP']), port: z.int() })).min(1)
const Policy = z.strictObject({
  podSelector: z.strictObject({ matchLabels: z.strictObject({ [NAME_LABEL]: z.string() }).optional() }),
  policyTypes: z.tuple([z.literal('Ingress'), z.literal('Egress')]),
  ingress: z.array(z.strictObject({ from: z.array(Peer).min(1).optional(), ports: Ports })).default([]),
  egress: z.array(z.strictObject({ to: z.array(Peer).min(1), ports: Ports })).default([]),
})

const readPolicies = () =>
  readManifests()
    .map(({ manifest }) => manifest)
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map(({ metadata, ...manifest }) => ({ name: metadata.name, ...Policy.parse(manifest['spec']) }))

const isWorkload = (name: string) => (WORKLOADS as readonly string[]).includes(name)
const formatConnection = ({ from, to, port }: { from: string; to: string; port: number }) =>
  `${from} -> ${to}:${port}`
/** Lists the workloads that peers select. A rule without peers, like one with a block of addresses, allows the whole internet. */
const listNames = (peers: readonly z.infer<typeof Peer>[] | undefined) =>
  peers
    ? [
        ...new Set(
          peers.map((peer) =>
            'ipBlock' in peer ? 'world' : (peer.podSelector.matchLabels[NAME_LABEL] ?? ''),
          ),
        ),
      ]
    : ['world']

test('network policies allow exactly the incoming connections of arrows.ts', () => {
  const allowed = readPolicies().flatMap(({ name, ingress }) =>
    ingress.flatMap(({ from, ports }) =>
      listNames(from).flatMap((peer) =>
        ports.map(({ port }) => formatConnection({ from: peer, to: name, port })),
      ),
    ),
  )
  const expected = CONNECTIONS.filter(({ to }) => isWorkload(to)).map(formatConnection)
  expect(allowed.toSorted()).toEqual(expected.toSorted())
})

test('network policies allow exactly the outgoing connections of arrows.ts, and DNS', () => {
  const allowed = readPolicies()
    .filter(({ name }) => name !== 'default')
    .flatMap(({ name, egress }) =>
      egress.flatMap(({ to, ports }) =>
        listNames(to).flatMap((peer) =>
          ports.map(({ port }) => formatConnection({ from: name, to: peer, port })),
        ),
      ),
    )
  const expected = CONNECTIONS.filter(({ from }) => isWorkload(from)).map(formatConnection)
  expect(allowed.toSorted()).toEqual(expected.toSorted())
  const [defaultPolicy, ...others] = readPolicies().filter(({ name }) => name === 'default')
  expect(others).toEqual([])
  expect(defaultPolicy?.podSelector).toEqual({})
  expect(defaultPolicy?.ingress).toEqual([])
  // DNS over UDP and TCP.
  expect(defaultPolicy?.egress.flatMap(({ ports }) => ports.map(({ port }) => port))).toEqual([53, 53])
})

test('each policy selects the pods that have its name, and each pod has a policy', () => {
  const labels = readPods().map(({ name, label }) => {
    expect(label).toBe(name)
    return name
  })
  expect(labels.toSorted()).toEqual([...WORKLOADS].toSorted())
  const policies = readPolicies().filter(({ name }) => name !== 'default')
  expect(policies.map(({ name }) => name).toSorted()).toEqual([...WORKLOADS].toSorted())
  for (const { name, podSelector } of policies)
    expect(podSelector.matchLabels).toEqual({ [NAME_LABEL]: name })
})

test('policies name the namespace of each peer in another namespace', () => {
  const peers = readPolicies().flatMap(({ ingress, egress }) => [
    ...ingress.flatMap(({ from = [] }) => from),
    ...egress.flatMap(({ to }) => to),
  ])
  for (const { namespaceSelector, podSelector } of peers.filter((peer) => 'podSelector' in peer))
    expect(namespaceSelector === undefined, JSON.stringify(podSelector)).toBe(
      isWorkload(podSelector.matchLabels[NAME_LABEL] ?? ''),
    )
})

test.for([
  ...['10.1.2.3', '100.64.0.1', '127.0.0.1', '169.254.169.254', '172.30.80.2', '192.168.1.1'],
  // The last one is 10.0.0.1 behind NAT64.
  ...['::1', 'fd00::1', 'fe80::1', '64:ff9b::a00:1'],
])('policies that allow the internet exclude %s', (address) => {
  const blocks = readPolicies().flatMap(({ egress }) =>
    egress.flatMap(({ to }) => to.flatMap((peer) => ('ipBlock' in peer ? [peer.ipBlock] : []))),
  )
  expect(blocks.map(({ cidr }) => cidr)).toEqual(['0.0.0.0/0', '::/0'])
  const type = isIPv6(address) ? 'ipv6' : 'ipv4'
  const excluded = new BlockList()
  for (const { except } of blocks)
    for (const [network = '', bits] of except.map((each) => each.split('/')))
      excluded.addSubnet(network, Number(bits), isIPv6(network) ? 'ipv6' : 'ipv4')
  expect(excluded.check(address, type)).toBe(true)
  // A public address is not excluded.
  expect(excluded.check(isIPv6(address) ? '2606:4700::1' : '93.184.215.14', type)).toBe(false)
})

test('services of compose.yaml share a network if and only if arrows.ts connects them or they belong to one app', () => {
  const { services } = readCompose()
  const workloads = Object.entries(services).map(([name, service]) => ({
    name: COMPOSE_ONLY[parseWorkload(name)] ?? parseWorkload(name),
    networks: listNetworks(service),
  }))
  const formatPair = (one: string, other: string) => [one, other].toSorted().join(' + ')
  const connectedPairs = workloads.flatMap((one, index) =>
    workloads
      .slice(index + 1)
      .filter((other) => other.networks.some((network) => one.networks.includes(network)))
      .filter((other) => parseApp(one.name) === undefined || parseApp(one.name) !== parseApp(other.name))
      .map((other) => formatPair(one.name, other.name)),
  )
  const expected = CONNECTIONS.filter(({ from, to }) => from !== 'world' && to !== 'world').map(
    ({ from, to }) => formatPair(from, to),
  )
  expect([...new Set(connectedPairs)].toSorted()).toEqual([...new Set(expected)].toSorted())
})

/** Maps each service of compose.yaml that is a second container of a Job on Kubernetes to that Job. */
const COMPOSE_ONLY: Readonly<Record<string, string>> = { 'resource-guides': 'resource-migrate' }
/** Returns the app to which a service such as `auth-migrate` belongs; undefined for any other service. */
const parseApp = (name: string) => /^(auth|resource)(-|$)/.exec(name)?.[1]

test('only services with a published port, Prometheus, and auth (which fetches client documents) are on a network with a way out', () => {
  const { services, networks } = readCompose()
  for (const [name, service] of Object.entries(services)) {
    const externalNetworks = listNetworks(service).filter((network) => networks[network]?.internal !== true)
    if (service.ports.length === 0 && name !== 'prometheus')
      expect(externalNetworks, name).toEqual(/^auth-\d$/.test(name) ? ['documents'] : [])
    for (const port of service.ports) expect(port, name).toMatch(/^127\.0\.0\.1:/)
  }
})

test('each URL setting that the manifests set has a connection, and each setting of a connection exists', () => {
  const urlSettings = APP_NAMES.flatMap((app) => APP_SETTINGS[app].map(({ name }) => name)).filter((name) =>
    name.endsWith('_URL'),
  )
  const connectionSettings = CONNECTIONS.map(({ setting }) => setting).filter(
    (setting) => setting !== undefined,
  )
  for (const name of urlSettings.filter((each) => !(each in LEFT_AT_DEFAULT)))
    expect(connectionSettings, `${name} has no connection in arrows.ts`).toContain(name)
  for (const name of connectionSettings) expect(urlSettings).toContain(name)
})

test('the picture in docs/architecture.md has an arrow for each port of the apps, for mail and for documents', () => {
  const text = readFileSync(new URL('../../../docs/architecture.md', import.meta.url), 'utf8')
  const drawnArrows = Array.from(
    text.matchAll(/^ {2}(\w+) (?:-->|-\.->)\|(\d+)[^|]*\| (\w+)$/gm),
    ([, from = '', port, to = '']) => formatConnection({ from, to, port: Number(port) }),
  )
  const appConnections = CONNECTIONS.filter(({ to }) =>
    ['auth', 'resource', 'mail', 'world'].includes(to),
  ).map(formatConnection)
  expect(drawnArrows.toSorted()).toEqual(appConnections.toSorted())
})
