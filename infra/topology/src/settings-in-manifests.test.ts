import { APP_NAMES, type AppName } from '@plainpath/metadata'
import { COMPOSE_ENV_FILES } from '@plainpath/stack/compose-secrets'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { APP_SETTINGS, LEFT_AT_DEFAULT } from './app-settings.ts'
import { CONNECTIONS } from './arrows.ts'
import { type Container, readPods } from './pods.ts'
import { readCompose, readInfra, readVariables } from './read-manifests.ts'

/** A variable that Node reads. It is not a setting of an app. */
const NODE_VARIABLE = 'NODE_EXTRA_CA_CERTS'
/** Matches the names of variables whose value is a file path. */
const FILE_VARIABLE_PATTERN = /_FILE$|^NODE_EXTRA_CA_CERTS$/

const compose = readCompose()
/** Lists the variables of a service of compose.yaml. Those from secret files and from the shell have no value here. */
function listComposeVariables(name: string): Map<string, string | undefined> {
  const service = compose.services[name]
  if (!service) throw new Error(`no service ${name}`)
  const variablesFromFiles = service.env_file.flatMap(
    (file) => COMPOSE_ENV_FILES[file.split('/').at(-1) ?? ''] ?? [],
  )
  return new Map<string, string | undefined>([
    ...variablesFromFiles.map((variable) => [variable, undefined] as const),
    ...Object.entries(service.environment),
  ])
}

/** Lists the variables of a container of the Kubernetes manifests. Those from Secrets have no value here. */
function listPodVariables({ envFrom, env }: Container): Map<string, string | undefined> {
  const files = envFrom.map(({ configMapRef }) => configMapRef.name.replace(/-settings$/, '.env'))
  return new Map<string, string | undefined>([
    ...files.flatMap((file) => Object.entries(readVariables(`kubernetes/base/${file}`))),
    ...env.map(({ name }) => [name, undefined] as const),
  ])
}

/** Finds a container of a pod. @throws {Error} if there is none */
const findContainer = (pod: string, container: string): Container => {
  const match = readPods()
    .find(({ name }) => name === pod)
    ?.containers.find(({ name }) => name === container)
  if (!match) throw new Error(`no container ${container} in ${pod}`)
  return match
}

const DEPLOYMENTS = APP_NAMES.flatMap((app) => [
  { title: `compose.yaml, ${app}-1`, app, variables: listComposeVariables(`${app}-1`) },
  { title: `Kubernetes, ${app}`, app, variables: listPodVariables(findContainer(app, app)) },
])

describe.for(DEPLOYMENTS)('$title', ({ app, variables }) => {
  test('sets every required setting, and no variable that is not a setting', () => {
    const names = APP_SETTINGS[app].map(({ name }) => name)
    const required = APP_SETTINGS[app].filter(({ isRequired }) => isRequired).map(({ name }) => name)
    expect(required.filter((name) => !variables.has(name))).toEqual([])
    expect([...variables.keys()].filter((name) => name !== NODE_VARIABLE && !names.includes(name))).toEqual(
      [],
    )
  })

  test('sets only values that the app accepts', () => {
    for (const { name, accepts } of APP_SETTINGS[app]) {
      const value = variables.get(name)
      // The schema of such a setting reads the file, which exists only in the container.
      if (value === undefined || FILE_VARIABLE_PATTERN.test(name)) continue
      expect(accepts(value), `${name}=${value}`).toBe(true)
    }
  })
})

test.for(APP_NAMES)(
  'each setting of %s is set in both deployments, on the app or on its migration job, or is listed in LEFT_AT_DEFAULT',
  (app) => {
    const deployments = DEPLOYMENTS.filter((deployment) => deployment.app === app)
    const jobs = [
      listComposeVariables(`${app}-migrate`),
      listPodVariables(findContainer(`${app}-migrate`, 'migrate')),
    ]
    const missing = APP_SETTINGS[app]
      .map(({ name }) => name)
      .filter((name) => !(name in LEFT_AT_DEFAULT))
      .filter(
        (name) =>
          deployments.some(({ variables }) => !variables.has(name)) &&
          jobs.some((variables) => !variables.has(name)),
      )
      .map(
        (name) => `${name}: set it in compose.yaml and kubernetes/base, or give a reason in LEFT_AT_DEFAULT`,
      )
    expect(missing).toEqual([])
  },
)

test("only the migration jobs get the owner's database URL", () => {
  const hasOwnerUrl = (variables: Map<string, string | undefined>) =>
    [...variables.keys()].some((name) => name.endsWith('_MIGRATION_DATABASE_URL'))
  const services = Object.keys(compose.services).filter((name) => /^(auth|resource)/.test(name))
  expect(services.filter((name) => hasOwnerUrl(listComposeVariables(name)))).toEqual([
    'auth-migrate',
    'resource-migrate',
  ])
  const containers = readPods().flatMap(({ name, containers: all }) =>
    all
      .filter((container) => hasOwnerUrl(listPodVariables(container)))
      .map((container) => `${name}/${container.name}`),
  )
  expect(containers).toEqual(['auth-migrate/migrate', 'resource-migrate/migrate'])
})

test('LEFT_AT_DEFAULT names only settings that exist', () => {
  const names = APP_NAMES.flatMap((app) => APP_SETTINGS[app].map(({ name }) => name))
  expect(Object.keys(LEFT_AT_DEFAULT).filter((name) => !names.includes(name))).toEqual([])
})

test.for(APP_NAMES)(
  'the mounted secrets of %s are exactly the files that its settings name',
  (app: AppName) => {
    const listFiles = (variables: Map<string, string | undefined>) =>
      [...variables].filter(([name]) => FILE_VARIABLE_PATTERN.test(name)).map(([, value]) => value)
    const secrets = compose.services[`${app}-1`]?.secrets ?? []
    expect(listFiles(listComposeVariables(`${app}-1`)).toSorted()).toEqual(
      secrets.map((each) => `/run/secrets/${each}`).toSorted(),
    )
    const pod = readPods().find(({ name }) => name === app)
    const files = pod?.spec.volumes.flatMap(({ secret }) => secret?.items ?? []) ?? []
    expect(listFiles(listPodVariables(findContainer(app, app))).toSorted()).toEqual(
      files.map((file) => `/run/plainpath/${file.path}`).toSorted(),
    )
  },
)

test('the gateway gets only variables that the Caddyfile or the runtime of Go reads', () => {
  const caddyfileVariables = new Set(
    Array.from(readInfra('gateway/Caddyfile').matchAll(/\{\$([A-Z_]+)/g), ([, name]) => name),
  )
  const passed = [
    ...Object.keys(compose.services['gateway']?.environment ?? {}),
    ...Object.keys(readVariables('kubernetes/base/gateway.env')),
  ]
  expect(passed.filter((name) => !caddyfileVariables.has(name))).toEqual(['GOMEMLIMIT'])
})

test('traces are off by default', () => {
  const connections = CONNECTIONS.filter(({ to }) => to === 'collector')
  expect(connections.map(({ from }) => from)).toEqual(APP_NAMES)
  for (const { from, setting = '' } of connections) {
    // Without a value, Compose takes the variable from the shell.
    expect([...listComposeVariables(`${from}-1`)]).toContainEqual([setting, undefined])
    expect(listPodVariables(findContainer(from, from)).has(setting), setting).toBe(false)
  }
  // The collector starts only with its Compose profile.
  const optionalServices = Object.entries(compose.services).filter(([, { profiles }]) => profiles.length > 0)
  expect(optionalServices.map(([name]) => name)).toEqual(['collector'])
  // The comment in compose.yaml that shows how to turn traces on.
  expect(readInfra('compose.yaml')).toContain(
    connections.map(({ setting, to, port }) => `${setting}=http://${to}:${port}`).join(' '),
  )
})

/** The kustomization of the example overlay. Being strict, it rejects members that the test does not check. */
const Overlay = z.strictObject({
  apiVersion: z.literal('kustomize.config.k8s.io/v1beta1'),
  kind: z.literal('Kustomization'),
  namespace: z.literal('plainpath'),
  resources: z.tuple([z.literal('../base')]),
  components: z.tuple([z.literal('../backups')]),
  images: z.array(z.strictObject({ name: z.string(), newName: z.string(), newTag: z.string() })),
  replicas: z.array(z.strictObject({ name: z.string(), count: z.int().min(2) })),
  configMapGenerator: z.array(
    z.strictObject({ name: z.string(), behavior: z.literal('merge'), literals: z.array(z.string()) }),
  ),
})

test('the example overlay names only images and Deployments of the base, and only settings and values that the apps accept', () => {
  const overlay = Overlay.parse(parse(readInfra('kubernetes/example/kustomization.yaml')))
  const pods = readPods()
  const images = pods.flatMap(({ containers }) => containers.map(({ image }) => image))
  for (const { name } of overlay.images) expect(images).toContain(name)
  const deployments = pods.filter(({ kind }) => kind === 'Deployment').map(({ name }) => name)
  for (const { name } of overlay.replicas) expect(deployments).toContain(name)
  const settings = new Map(
    APP_NAMES.flatMap((app) => APP_SETTINGS[app]).map((setting) => [setting.name, setting]),
  )
  for (const { name, literals } of overlay.configMapGenerator)
    for (const literal of literals) {
      const [variable = '', ...value] = literal.split('=')
      expect(variable.toLowerCase()).toMatch(new RegExp(`^${name.replace(/-settings$/, '')}_`))
      expect(settings.get(variable)?.accepts(value.join('=')), literal).toBe(true)
      const connection = CONNECTIONS.find(({ setting }) => setting === variable)
      if (connection)
        expect(value.join('=')).toMatch(new RegExp(`//${connection.to}\\.[a-z-]+:${connection.port}$`))
    }
})
