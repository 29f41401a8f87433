import path from 'node:path'
import type { ComposeFile } from '@plainpath/topology/read-manifests'
import { z } from 'zod'

type ComposeService = ComposeFile['services'][string]

/** The service members that can be translated. Any other member is an error, so that none is silently ignored. */
const Service = z.strictObject({
  image: z.string(),
  networks: z.unknown(),
  environment: z.record(z.string(), z.string().optional()),
  profiles: z.array(z.string()),
  env_file: z.array(z.string()),
  secrets: z.array(z.string()),
  ports: z.array(z.string()),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  command: z.union([z.string(), z.array(z.string())]).optional(),
  ulimits: z.record(z.string(), z.int()).optional(),
  // The next three members are ignored: this program builds the images, restarts nothing, and lets podman store the logs.
  build: z.unknown().optional(),
  restart: z.string().optional(),
  logging: z.unknown().optional(),
  depends_on: z.record(z.string(), z.object({ condition: z.string() })).default({}),
  read_only: z.boolean().default(false),
  cap_drop: z.array(z.string()).default([]),
  cap_add: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
  user: z.string().optional(),
  stop_grace_period: z
    .string()
    .regex(/^\d+s$/)
    .optional(),
  volumes: z.array(z.string()).default([]),
  tmpfs: z.array(z.string()).default([]),
  shm_size: z.string().optional(),
})
const Network = z.strictObject({
  internal: z.boolean().default(false),
  ipam: z
    .object({ config: z.tuple([z.strictObject({ subnet: z.string(), ip_range: z.string().optional() })]) })
    .optional(),
})

const PROJECT = 'plainpath'
export const toNetworkName = (name: string) => `${PROJECT}_${name}`

/** Returns the arguments of `podman network create` for each network. */
export const translateNetworks = (compose: ComposeFile): string[][] =>
  Object.entries(compose.networks).map(([name, definition]) => {
    const { internal, ipam } = Network.parse(definition)
    const [range] = ipam?.config ?? []
    return [
      ...(internal ? ['--internal'] : []),
      ...(range ? ['--subnet', range.subnet] : []),
      ...(range?.ip_range ? ['--ip-range', range.ip_range] : []),
      toNetworkName(name),
    ]
  })

/** Lists the services for which a service waits, each with the condition that ends the wait. */
export const listDependencies = (service: ComposeService): [name: string, condition: string][] =>
  Object.entries(Service.parse(service).depends_on).map(([name, { condition }]) => [name, condition])

/**
 * Translates a service into the arguments of `podman run`, up to and including its command.
 *
 * @param options.composeFolder the folder of compose.yaml, to which its paths are relative
 * @param options.secretsFolder replaces the secrets folder that compose.yaml names
 * @param options.command replaces the command of the service
 */
export function translateService(
  compose: ComposeFile,
  name: string,
  options: { composeFolder: string; secretsFolder: string; command?: readonly string[] },
): string[] {
  const service = Service.parse(compose.services[name])
  const toSecretPath = (file: string) => path.join(options.secretsFolder, path.basename(file))
  const command =
    options.command ?? (typeof service.command === 'string' ? splitCommand(service.command) : service.command)
  return [
    ...listNetworks(service.networks).flatMap(([network, { aliases = [], ipv4_address: address }]) => {
      const networkOptions = [
        ...[name, ...aliases].map((alias) => `alias=${alias}`),
        ...(address ? [`ip=${address}`] : []),
      ]
      return ['--network', `${toNetworkName(network)}:${networkOptions.join(',')}`]
    }),
    // Docker, unlike podman, mounts no tmpfs at /tmp, /run and /var/tmp.
    ...(service.read_only ? ['--read-only', '--read-only-tmpfs=false'] : []),
    ...service.cap_drop.map((capability) => `--cap-drop=${capability}`),
    ...service.cap_add.map((capability) => `--cap-add=${capability}`),
    ...service.security_opt.map((option) => `--security-opt=${option.replace(':true', '')}`),
    ...Object.entries(service.ulimits ?? {}).map(([limit, value]) => `--ulimit=${limit}=${value}:${value}`),
    ...(service.user ? ['--user', service.user] : []),
    ...(service.stop_grace_period ? ['--stop-timeout', service.stop_grace_period.slice(0, -1)] : []),
    ...(service.shm_size ? ['--shm-size', service.shm_size] : []),
    ...Object.entries(service.environment).flatMap(([variable, value]) =>
      value === undefined ? [] : ['--env', `${variable}=${value}`],
    ),
    ...service.env_file.flatMap((file) => ['--env-file', toSecretPath(file)]),
    ...service.secrets.flatMap((secret) => {
      const { file = '' } = compose.secrets[secret] ?? {}
      return ['--volume', `${toSecretPath(file)}:/run/secrets/${secret}:ro`]
    }),
    ...service.volumes.flatMap((volume) => {
      const [source = '', ...rest] = volume.split(':')
      const resolvedSource = source.startsWith('.')
        ? path.resolve(options.composeFolder, source)
        : toNetworkName(source)
      return ['--volume', [resolvedSource, ...rest].join(':')]
    }),
    ...service.tmpfs.flatMap((target) => ['--tmpfs', target]),
    ...service.ports.flatMap((port) => ['--publish', port]),
    '--pull=never',
    qualifyImage(service.image),
    ...(command ?? []),
  ]
}

/** Adds Docker Hub and, if there is none, the namespace `library` to an image name, as Docker does. */
export const qualifyImage = (image: string): string =>
  image.includes('/') ? `docker.io/${image}` : `docker.io/library/${image}`

const Attachment = z.object({ aliases: z.array(z.string()).optional(), ipv4_address: z.string().optional() })
const listNetworks = (networks: unknown): [string, z.infer<typeof Attachment>][] =>
  Array.isArray(networks)
    ? networks.map((network: string) => [network, {}])
    : Object.entries(z.record(z.string(), Attachment).parse(networks))

/** Splits a command at white space, except between double quotes. */
const splitCommand = (command: string): string[] =>
  Array.from(command.matchAll(/"([^"]*)"|(\S+)/g), ([, quoted, word]) => quoted ?? word ?? '')
