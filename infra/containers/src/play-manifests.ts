/*
 * Runs the pods of infra/kubernetes/base with `podman kube play`. They replace the instances of compose.yaml behind the same
 * gateway, with the same stores and secrets.
 */
import { readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import {
  type ComposeFile,
  listNetworks,
  readManifests,
  readVariables,
} from '@plainpath/topology/read-manifests'
import { z } from 'zod'
import type { Engine } from './engine.ts'
import { qualifyImage, toNetworkName } from './translate-compose.ts'

type AppName = 'auth' | 'resource'

const Container = z.looseObject({ name: z.string(), image: z.string() })
const Volume = z.looseObject({ secret: z.looseObject({ secretName: z.string() }).optional() })
const PodTemplate = z.looseObject({
  metadata: z.looseObject({ labels: z.record(z.string(), z.string()) }),
  spec: z.looseObject({
    containers: z.array(Container),
    initContainers: z.array(Container).default([]),
    volumes: z.array(Volume).default([]),
  }),
})
const Deployment = z.looseObject({ spec: z.looseObject({ template: PodTemplate }) })
const CronJob = z.looseObject({
  spec: z.looseObject({ jobTemplate: z.looseObject({ spec: z.looseObject({ template: PodTemplate }) }) }),
})

export interface PlayOptions {
  readonly compose: ComposeFile
  /** The folder with the secret files that compose.yaml names. */
  readonly secretsFolder: string
  /** The folder into which the manifests and secrets for podman are written. */
  readonly workFolder: string
}

/** Maps each key of an app's Secret to the compose secret that has its value. */
const SECRET_FILES = {
  auth: { kek: 'auth-kek', 'hash-key': 'auth-hash-key', 'resource-servers.json': 'resource-servers' },
  resource: {
    kek: 'resource-kek',
    'hash-key': 'resource-hash-key',
    'client-secret': 'resource-client-secret',
  },
} as const

/**
 * Creates the two podman secrets that replace an app's Secret in podman 4.3: one for environment variables, with base64 values,
 * and one for mounted files, a manifest with plain-text values.
 */
async function createSecrets(engine: Engine, app: AppName, options: PlayOptions): Promise<void> {
  const { compose, secretsFolder, workFolder } = options
  const readSecretFile = (file: string) => readFile(path.join(secretsFolder, path.basename(file)), 'utf8')
  const readUrl = async (file: string) => {
    const text = await readSecretFile(file)
    return text.slice(text.indexOf('=') + 1).trim()
  }
  const fileValues = Object.entries(SECRET_FILES[app]).map(
    async ([key, secret]): Promise<[string, string]> => [
      key,
      await readSecretFile(compose.secrets[secret]?.file ?? secret),
    ],
  )
  const values = {
    'database-url': await readUrl(`${app}-database.env`),
    'redis-url': await readUrl(`${app}-redis.env`),
    'smtp-url': readSetting(compose, app, 'SMTP_URL'),
    ...Object.fromEntries(await Promise.all(fileValues)),
  }
  const variablesSecret = Object.fromEntries(
    Object.entries(values).map(([key, value = '']) => [key, Buffer.from(value).toString('base64')]),
  )
  const name = `${app}-secrets`
  const filesSecret = {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: toFilesSecretName(name) },
    data: values,
  }
  for (const [secret, content] of [
    [name, variablesSecret],
    [toFilesSecretName(name), filesSecret],
  ] as const) {
    const file = path.join(workFolder, `${secret}.json`)
    await writeFile(file, JSON.stringify(content), { mode: 0o600 })
    await engine.podman('secret', 'create', secret, file)
  }
}

const toFilesSecretName = (secret: string) => `${secret}-files`

/**
 * Reads an app setting from compose.yaml.
 *
 * @param name without its prefix
 * @returns undefined if compose.yaml does not set it
 */
const readSetting = (compose: ComposeFile, app: AppName, name: string): string | undefined =>
  compose.services[`${app}-1`]?.environment[`${app.toUpperCase()}_${name}`]

/** The settings, without their prefix, whose values in the base are replaced by those of compose.yaml, as an overlay would replace them. */
const OVERLAY_SETTINGS = ['ORIGIN', 'MCP_PUBLIC_ORIGIN', 'TRUSTED_PROXIES']

/** Creates an app's ConfigMap from the base. Values in compose.yaml replace those of `OVERLAY_SETTINGS`. */
function createConfigMap(app: AppName, compose: ComposeFile) {
  const data = readVariables(`kubernetes/base/${app}.env`)
  for (const name of OVERLAY_SETTINGS) {
    const value = readSetting(compose, app, name)
    if (value !== undefined) data[`${app.toUpperCase()}_${name}`] = value
  }
  return { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: `${app}-settings` }, data }
}

/**
 * Adapts a pod template to podman 4.3. Removes probes (podman runs them with `curl`, which our images lack) and ports (podman
 * would publish them on the host). Forbids pulling images. Sets `optional` on each Secret, because podman fails without it.
 */
function adaptToPodman(template: z.infer<typeof PodTemplate>): z.infer<typeof PodTemplate> {
  const adaptContainer = (container: z.infer<typeof Container>) => ({
    ...Object.fromEntries(
      Object.entries(container).filter(([field]) => field !== 'ports' && !field.endsWith('Probe')),
    ),
    name: container.name,
    image: qualifyImage(container.image),
    imagePullPolicy: 'Never',
  })
  const adaptVolume = (volume: z.infer<typeof Volume>) => ({
    ...volume,
    ...(volume.secret && {
      secret: { ...volume.secret, secretName: toFilesSecretName(volume.secret.secretName), optional: false },
    }),
  })
  const { spec } = template
  return {
    ...template,
    spec: {
      ...spec,
      containers: spec.containers.map(adaptContainer),
      initContainers: spec.initContainers.map(adaptContainer),
      volumes: spec.volumes.map(adaptVolume),
    },
  }
}

/**
 * Runs manifests with `podman kube play`, on the networks of a compose service.
 *
 * @param options.aliases the host names of each pod in these networks
 */
async function playManifests(
  engine: Engine,
  manifests: readonly object[],
  options: {
    workFolder: string
    name: string
    compose: ComposeFile
    service: string
    aliases: readonly string[]
  },
): Promise<void> {
  const { workFolder, name, compose, service, aliases } = options
  const file = path.join(workFolder, `${name}.yaml`)
  await writeFile(file, manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n'))
  const composeService = compose.services[service]
  if (!composeService) throw new Error(`compose.yaml has no service ${service}`)
  const aliasOptions = aliases.map((alias) => `alias=${alias}`).join(',')
  const networks = listNetworks(composeService).map(
    (network) => `--network=${toNetworkName(network)}${aliasOptions && `:${aliasOptions}`}`,
  )
  await engine.podman('kube', 'play', ...networks, file)
}

const findManifest = (kind: string, name: string) =>
  readManifests().find(({ manifest }) => manifest.kind === kind && manifest.metadata.name === name)?.manifest

/**
 * Runs the Deployments `auth` and `resource` under the host names of the compose.yaml instances, which the gateway knows.
 *
 * @returns the container names by app
 */
export async function playDeployments(
  engine: Engine,
  options: PlayOptions,
): Promise<Readonly<Record<AppName, readonly string[]>>> {
  for (const app of ['auth', 'resource'] as const) {
    await createSecrets(engine, app, options)
    const deployment = Deployment.parse(findManifest('Deployment', app))
    const { spec } = deployment
    const adaptedDeployment = { ...deployment, spec: { ...spec, template: adaptToPodman(spec.template) } }
    await playManifests(engine, [createConfigMap(app, options.compose), adaptedDeployment], {
      ...options,
      name: app,
      service: `${app}-1`,
      aliases: [app, `${app}-1`, `${app}-2`],
    })
  }
  const listContainers = async (app: AppName) =>
    (await engine.podman('ps', '--filter', `name=^${app}-pod-.*-${app}$`, '--format', '{{.Names}}'))
      .split('\n')
      .toSorted()
  return { auth: await listContainers('auth'), resource: await listContainers('resource') }
}

/**
 * Runs the pod of the CronJob `auth-keys` once. After `keys rotate` has succeeded, podman removes the init container that ran it,
 * so only the output of `keys verify` can be read.
 *
 * @returns the output of `keys verify`
 */
export async function playKeysJob(engine: Engine, options: PlayOptions): Promise<string> {
  const template = adaptToPodman(
    CronJob.parse(findManifest('CronJob', 'auth-keys')).spec.jobTemplate.spec.template,
  )
  const name = 'auth-keys-once'
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { ...template.metadata, name }, spec: template.spec }
  await playManifests(engine, [createConfigMap('auth', options.compose), pod], {
    ...options,
    name,
    service: 'auth-keys',
    aliases: [],
  })
  const container = `${name}-${template.spec.containers[0]?.name}`
  const code = await engine.podman('wait', container)
  const output = await engine.podman('logs', container)
  if (code !== '0') throw new Error(`${container} exited with code ${code}:\n${output}`)
  return output
}
