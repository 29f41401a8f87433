import { readFileSync } from 'node:fs'
import path from 'node:path'
import { GATEWAY_CHECK_HOST } from '@plainpath/http'
import { APP_NAMES } from '@plainpath/metadata'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { APP_SETTINGS } from './app-settings.ts'
import { type Pod, readPods } from './pods.ts'
import { readCompose, readInfra, readManifests, readVariables } from './read-manifests.ts'

const root = path.resolve(import.meta.dirname, '../../..')
/** The listeners, each with the end of the name of its port setting. The API has no internal one. */
const LISTENERS = { public: 'PORT', internal: 'INTERNAL_PORT', operations: 'OPERATIONS_PORT' } as const

const Service = z.looseObject({
  selector: z.record(z.string(), z.string()),
  ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string() })),
})
const Lifecycle = z.strictObject({
  preStop: z.strictObject({ sleep: z.strictObject({ seconds: z.int() }) }),
})
const findSpec = (kind: string, name: string): unknown =>
  readManifests().find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name)?.manifest[
    'spec'
  ]

describe.for(APP_NAMES)('the pods of %s', (app) => {
  const findPod = (): Pod => readPods().find(({ name }) => name === app)!
  const variables = readVariables(`kubernetes/base/${app}.env`)
  const readPort = (listener: keyof typeof LISTENERS) =>
    Number(variables[`${app.toUpperCase()}_${LISTENERS[listener]}`])

  test('expose the configured ports in the manifests and the image; the configured ports are the defaults', () => {
    const [container] = findPod().containers
    const expected = Object.keys(LISTENERS)
      .map((name) => ({ name, containerPort: readPort(name as keyof typeof LISTENERS) }))
      .filter(({ containerPort }) => !Number.isNaN(containerPort))
    expect(container?.ports).toEqual(expected)
    const stage = readInfra('Dockerfile').split(`AS ${app}\n`)[1]?.split('FROM')[0]
    expect(stage).toContain(`EXPOSE ${expected.map(({ containerPort }) => containerPort).join(' ')}\n`)
    for (const setting of APP_SETTINGS[app].filter(({ name }) => name.endsWith('_PORT')))
      expect(variables[setting.name], setting.name).toBe(setting.default)
  })

  test('have liveness, startup and readiness probes on the operations listener', () => {
    const [container] = findPod().containers
    expect(container?.livenessProbe?.httpGet).toEqual({ path: '/live', port: 'operations' })
    expect(container?.startupProbe?.httpGet).toEqual({ path: '/live', port: 'operations' })
    const httpHeaders = [{ name: 'Host', value: GATEWAY_CHECK_HOST }]
    expect(container?.readinessProbe?.httpGet).toEqual({ path: '/', port: 'operations', httpHeaders })
    const hostSettings = Object.entries(variables).filter(([name]) =>
      /_(OPERATIONS|INTERNAL)_HOST$/.test(name),
    )
    expect(hostSettings.map(([, value]) => value)).toEqual(hostSettings.map(() => '0.0.0.0'))
    // Every listener needs the setting, except the public one, which is on all addresses by default.
    expect(hostSettings.length).toBe(findPod().containers[0]!.ports.length - 1)
  })

  // F-33 is the number of a fault in e2e/faults/fault-numbers.ts.
  test('F-33 fail their liveness probe 5 to 10 s after they hang, and are killed at most 5 s later', () => {
    const probe = findPod().containers[0]!.livenessProbe!
    const { periodSeconds, timeoutSeconds, failureThreshold, terminationGracePeriodSeconds } = probe
    // At the earliest: the pod hangs just before a probe.
    expect((failureThreshold - 1) * periodSeconds + timeoutSeconds).toBeGreaterThan(5)
    // At the latest: it hangs just after one.
    expect(failureThreshold * periodSeconds + timeoutSeconds).toBeLessThanOrEqual(10)
    expect(terminationGracePeriodSeconds).toBeLessThanOrEqual(5)
  })

  test('have a health check on the operations port in compose.yaml, without a shell', () => {
    const [kind, program, ...args] = readCompose().services[`${app}-1`]?.healthcheck?.test ?? []
    expect([kind, program]).toEqual(['CMD', '/usr/local/bin/node'])
    expect(args.join(' ')).toContain(`http://127.0.0.1:${readPort('operations')}/ready`)
  })

  test('have enough time to drain before they are killed', () => {
    const drainSeconds = Number(variables[`${app.toUpperCase()}_DRAIN_SECONDS`])
    const delaySeconds = APP_SETTINGS[app].find(({ name }) => name.endsWith('_DRAIN_DELAY_SECONDS'))?.default
    // Delays the signal until no Service routes to the pod.
    const { preStop } = Lifecycle.parse(findPod().containers[0]!['lifecycle'])
    // After the drain, the app closes its stores. No setting bounds that; closing the connection pool takes at most 5 s.
    const closingSeconds = 10
    expect(findPod().spec.terminationGracePeriodSeconds).toBeGreaterThanOrEqual(
      preStop.sleep.seconds + Number(delaySeconds) + drainSeconds + closingSeconds,
    )
  })

  test('have a Service that does not expose the operations listener', () => {
    const { ports, selector } = Service.parse(findSpec('Service', app))
    expect(selector).toEqual({ 'app.kubernetes.io/name': app })
    expect(ports.map(({ name, port }) => [name, port])).toEqual(
      findPod()
        .containers[0]!.ports.filter(({ name }) => name !== 'operations')
        .map(({ name, containerPort }) => [name, containerPort]),
    )
  })
})

test.for(readPods())(
  'the pod $name is hardened: not root, read-only, no capabilities, no service-account token, a memory limit',
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

test('every Deployment has two pods, and a disruption budget of one', () => {
  for (const { name } of readPods().filter(({ kind }) => kind === 'Deployment')) {
    expect(findSpec('Deployment', name)).toMatchObject({ replicas: 2 })
    expect(findSpec('PodDisruptionBudget', name)).toEqual({
      maxUnavailable: 1,
      selector: { matchLabels: { 'app.kubernetes.io/name': name } },
    })
  }
})

test('the kustomization of the base names every file of the base', () => {
  const { resources } = parse(readInfra('kubernetes/base/kustomization.yaml')) as { resources: string[] }
  const files = new Set(readManifests().map(({ file }) => path.basename(file)))
  expect(resources.filter((file) => file.endsWith('.yaml')).toSorted()).toEqual([...files].toSorted())
})

test('the image has the Node that the project pins, a base without a shell, and a user that is not root', () => {
  const dockerfile = readInfra('Dockerfile')
  const pinnedVersion = /^nodeVersion: (.+)$/m.exec(
    readFileSync(path.join(root, 'pnpm-workspace.yaml'), 'utf8'),
  )?.[1]
  expect(dockerfile).toContain(`\nARG NODE=${pinnedVersion}\n`)
  const [, runtimeStage] = dockerfile.split(' AS runtime\n')
  expect(dockerfile).toContain('FROM gcr.io/distroless/cc-debian12:nonroot AS runtime\n')
  expect(runtimeStage).toContain('\nUSER 65532:65532\n')
  expect(runtimeStage).not.toMatch(/^RUN /m)
})

test('the image fills the compile cache with the same Node options with which it runs the apps', () => {
  const dockerfile = readInfra('Dockerfile')
  const [, compileOptions] = /^ +node (--.*) "\/srv\/plainpath\/\$app\/\$app\.mjs"/m.exec(dockerfile) ?? []
  const runOptions = [...dockerfile.matchAll(/^ENTRYPOINT (\[.*\])$/gm)].map(([, entryPoint = '']) =>
    (JSON.parse(entryPoint) as string[]).slice(1, -1).join(' '),
  )
  expect(runOptions).toEqual([compileOptions, compileOptions])
  expect(compileOptions).toMatch(/^--disable-proto=throw --disable-sigusr1 /)
})

test('the apps, the gateway and Redis in compose.yaml have a read-only file system and no capabilities', () => {
  const { services } = readCompose()
  for (const name of Object.keys(services).filter((each) => /^(auth|resource|gateway|redis)/.test(each)))
    expect(services[name], name).toMatchObject({
      read_only: true,
      cap_drop: ['ALL'],
      security_opt: ['no-new-privileges:true'],
    })
})

test('no compose.yaml service that holds secrets writes core dumps', () => {
  const { services } = readCompose()
  // The gateway has no secret files, but the tokens and messages of all requests pass through its memory.
  const servicesWithSecrets = Object.entries(services).filter(
    ([name, { secrets, env_file }]) => name === 'gateway' || secrets.length + env_file.length > 0,
  )
  expect(servicesWithSecrets.map(([name]) => name)).toEqual(
    expect.arrayContaining(['auth-1', 'resource-1', 'postgres', 'redis']),
  )
  for (const [name, { ulimits }] of servicesWithSecrets) expect(ulimits, name).toEqual({ core: 0 })
})

test('PostgreSQL in compose.yaml logs no statement, parameter or value of a row', () => {
  const [program, ...options] = readCompose().services['postgres']?.command ?? []
  expect(program).toBe('postgres')
  expect(options.filter((_option, index) => index % 2 === 0)).toEqual(['-c', '-c', '-c'])
  expect(options.filter((_option, index) => index % 2 === 1).toSorted()).toEqual([
    'log_error_verbosity=terse',
    'log_min_error_statement=panic',
    'log_parameter_max_length_on_error=0',
  ])
})

test('the apps in compose.yaml trust only the address of the gateway as a proxy', () => {
  const { services } = readCompose()
  const gateway = services['gateway']?.networks
  const address = Array.isArray(gateway) ? undefined : gateway?.['front']?.ipv4_address
  expect(address).toMatch(/^[\d.]+$/)
  for (const app of APP_NAMES)
    expect(services[`${app}-1`]?.environment[`${app.toUpperCase()}_TRUSTED_PROXIES`]).toBe(address)
})
