import { readFileSync } from 'node:fs'
import path from 'node:path'
import { GATEWAY_CHECK_HOST } from '@plainpath/http'
import { APP_NAMES } from '@plainpath/metadata'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Pod, readPods } from './pods.ts'
import { readCompose, readInfra, readManifests, readVariables } from './read-manifests.ts'
import { SETTINGS_OF } from './settings-of.ts'

const root = path.resolve(import.meta.dirname, '../../..')
const LISTENERS = { public: 'PORT', internal: 'INTERNAL_PORT', operations: 'OPERATIONS_PORT' } as const

const Service = z.looseObject({
  selector: z.record(z.string(), z.string()),
  ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string() })),
})
const specOf = (kind: string, name: string): unknown =>
  readManifests().find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name)?.manifest[
    'spec'
  ]

describe.for(APP_NAMES)('the pods of %s', (app) => {
  const pod = (): Pod => readPods().find(({ name }) => name === app)!
  const variables = readVariables(`kubernetes/base/${app}.env`)
  const portOf = (listener: keyof typeof LISTENERS) =>
    Number(variables[`${app.toUpperCase()}_${LISTENERS[listener]}`])

  test('open the ports that the settings say, in the manifests, the image and by default', () => {
    const [container] = pod().containers
    const expected = Object.keys(LISTENERS)
      .map((name) => ({ name, containerPort: portOf(name as keyof typeof LISTENERS) }))
      .filter(({ containerPort }) => !Number.isNaN(containerPort))
    expect(container?.ports).toEqual(expected)
    const stage = readInfra('Dockerfile').split(`AS ${app}\n`)[1]?.split('FROM')[0]
    expect(stage).toContain(`EXPOSE ${expected.map(({ containerPort }) => containerPort).join(' ')}\n`)
    for (const setting of SETTINGS_OF[app].filter(({ name }) => name.endsWith('_PORT')))
      expect(variables[setting.name], setting.name).toBe(setting.default)
  })

  test('are asked on the operations listener whether they live, and whether they take requests', () => {
    const [container] = pod().containers
    expect(container?.livenessProbe?.httpGet).toEqual({ path: '/live', port: 'operations' })
    expect(container?.startupProbe?.httpGet).toEqual({ path: '/live', port: 'operations' })
    const httpHeaders = [{ name: 'Host', value: GATEWAY_CHECK_HOST }]
    expect(container?.readinessProbe?.httpGet).toEqual({ path: '/', port: 'operations', httpHeaders })
    const bound = Object.entries(variables).filter(([name]) => /_(OPERATIONS|INTERNAL)_HOST$/.test(name))
    expect(bound.map(([, value]) => value)).toEqual(bound.map(() => '0.0.0.0'))
    expect(bound.length).toBe(pod().containers[0]!.ports.length - 1)
  })

  test('F-33 are killed when they stand still for more than 5 s, soon then, and not before', () => {
    const probe = pod().containers[0]!.livenessProbe!
    const { periodSeconds, timeoutSeconds, failureThreshold, terminationGracePeriodSeconds } = probe
    // From the first question that is not answered in time, and from the last one that was.
    expect((failureThreshold - 1) * periodSeconds + timeoutSeconds).toBeGreaterThan(5)
    expect(failureThreshold * periodSeconds + timeoutSeconds).toBeLessThanOrEqual(10)
    expect(terminationGracePeriodSeconds).toBeLessThanOrEqual(5)
  })

  test('are asked on the same port in compose.yaml, without a shell', () => {
    const [how, program, ...rest] = readCompose().services[`${app}-1`]?.healthcheck?.test ?? []
    expect([how, program]).toEqual(['CMD', '/usr/local/bin/node'])
    expect(rest.join(' ')).toContain(`http://127.0.0.1:${portOf('operations')}/ready`)
  })

  test('have the time to drain before they are killed', () => {
    const drain = Number(variables[`${app.toUpperCase()}_DRAIN_SECONDS`])
    const delay = Number(SETTINGS_OF[app].find(({ name }) => name.endsWith('_DRAIN_DELAY_SECONDS'))?.default)
    // Before the signal, so that no Service names the pod any more when it says that it drains; and to close the stores.
    const [preStop, closing] = [5, 10]
    expect(pod().spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(preStop + delay + drain + closing)
  })

  test('are reached through a Service that never shows the operations listener', () => {
    const { ports, selector } = Service.parse(specOf('Service', app))
    expect(selector).toEqual({ 'app.kubernetes.io/name': app })
    expect(ports.map(({ name, port }) => [name, port])).toEqual(
      pod()
        .containers[0]!.ports.filter(({ name }) => name !== 'operations')
        .map(({ name, containerPort }) => [name, containerPort]),
    )
  })
})

test.for(readPods())(
  'the pod $name runs as nobody, on a read-only file system, with bounds',
  ({ spec, containers }) => {
    // A Service named auth would set AUTH_PORT=tcp://…, which the server refuses.
    expect(spec.enableServiceLinks).toBe(false)
    expect(spec.automountServiceAccountToken).toBe(false)
    expect(spec.securityContext).toMatchObject({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    })
    for (const container of containers) {
      expect(container.securityContext).toMatchObject({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      })
      expect(container.resources.limits).toHaveProperty('memory')
      for (const { name } of container.volumeMounts)
        expect(spec.volumes.map((volume) => volume.name)).toContain(name)
    }
  },
)

test('every Deployment has two pods or more, and a budget that lets one go at a time', () => {
  for (const { name } of readPods().filter(({ kind }) => kind === 'Deployment')) {
    expect(specOf('Deployment', name)).toMatchObject({ replicas: 2 })
    expect(specOf('PodDisruptionBudget', name)).toEqual({
      maxUnavailable: 1,
      selector: { matchLabels: { 'app.kubernetes.io/name': name } },
    })
  }
})

test('every file of the base is named in its kustomization', () => {
  const { resources } = parse(readInfra('kubernetes/base/kustomization.yaml')) as { resources: string[] }
  const files = new Set(readManifests().map(({ file }) => path.basename(file)))
  expect(resources.filter((file) => file.endsWith('.yaml')).toSorted()).toEqual([...files].toSorted())
})

test('the image has the Node that the project pins, ends without a shell, and not as root', () => {
  const dockerfile = readInfra('Dockerfile')
  const pinned = /^nodeVersion: (.+)$/m.exec(
    readFileSync(path.join(root, 'pnpm-workspace.yaml'), 'utf8'),
  )?.[1]
  expect(dockerfile).toContain(`\nARG NODE=${pinned}\n`)
  const [, last] = dockerfile.split(' AS runtime\n')
  expect(dockerfile).toContain('FROM gcr.io/distroless/cc-debian12:nonroot AS runtime\n')
  expect(last).toContain('\nUSER 65532:65532\n')
  expect(last).not.toMatch(/^RUN /m)
})

test('the image compiles both apps under the very options that it runs them under', () => {
  const dockerfile = readInfra('Dockerfile')
  const [, compiled] = /^ +node (--.*) "apps\/\$app\/src\/main\.ts"/m.exec(dockerfile) ?? []
  const run = [...dockerfile.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map(([, words = '']) =>
    (JSON.parse(words) as string[]).slice(1, -1).join(' '),
  )
  expect(run).toEqual([compiled, compiled])
  expect(compiled).toMatch(/^--disable-proto=throw --disable-sigusr1 /)
})

test('every service of compose.yaml that runs our code, the gateway and Redis is locked down', () => {
  const { services } = readCompose()
  for (const name of Object.keys(services).filter((each) => /^(auth|resource|gateway|redis)/.test(each)))
    expect(services[name], name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
})

test('no service of compose.yaml that holds secrets leaves an image of its memory', () => {
  const { services } = readCompose()
  const holding = Object.entries(services).filter(
    ([name, { secrets, env_file }]) => name === 'gateway' || secrets.length + env_file.length > 0,
  )
  expect(holding.map(([name]) => name)).toEqual(
    expect.arrayContaining(['auth-1', 'resource-1', 'postgres', 'redis']),
  )
  for (const [name, { ulimits }] of holding) expect(ulimits, name).toEqual({ core: 0 })
})

test('PostgreSQL of compose.yaml writes no statement, parameter or value of a row into its log', () => {
  const [program, ...options] = readCompose().services['postgres']?.command ?? []
  expect(program).toBe('postgres')
  expect(options.filter((_option, index) => index % 2 === 0)).toEqual(['-c', '-c', '-c'])
  expect(options.filter((_option, index) => index % 2 === 1).toSorted()).toEqual([
    'log_error_verbosity=terse',
    'log_min_error_statement=panic',
    'log_parameter_max_length_on_error=0',
  ])
})

test('compose.yaml trusts the address of its gateway, and no other, to say who asks', () => {
  const { services } = readCompose()
  const gateway = services['gateway']?.networks
  const address = Array.isArray(gateway) ? undefined : gateway?.['front']?.ipv4_address
  expect(address).toMatch(/^[\d.]+$/)
  for (const app of APP_NAMES)
    expect(services[`${app}-1`]?.environment[`${app.toUpperCase()}_TRUSTED_PROXIES`]).toBe(address)
})
