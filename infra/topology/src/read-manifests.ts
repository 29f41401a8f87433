import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'

const INFRA = path.resolve(import.meta.dirname, '../..')

/** Reads a file by its path in `infra`. */
export const readInfra = (file: string): string => readFileSync(path.join(INFRA, file), 'utf8')

/** A variable may have no value. Docker then takes the value from the shell that starts it, if the shell sets the variable. */
const Variables = z.record(
  z.string(),
  z
    .string()
    .nullable()
    .transform((value) => value ?? undefined),
)
const Networks = z.union([
  z.array(z.string()),
  z.record(
    z.string(),
    z.looseObject({ aliases: z.array(z.string()).optional(), ipv4_address: z.string().optional() }),
  ),
])
const ComposeService = z.looseObject({
  image: z.string(),
  networks: Networks,
  environment: Variables.default({}),
  profiles: z.array(z.string()).default([]),
  env_file: z.array(z.string()).default([]),
  secrets: z.array(z.string()).default([]),
  ports: z.array(z.string()).default([]),
  healthcheck: z.looseObject({ test: z.array(z.string()) }).optional(),
  command: z.union([z.string(), z.array(z.string())]).optional(),
  ulimits: z.record(z.string(), z.int()).optional(),
})
type ComposeService = z.infer<typeof ComposeService>
/**
 * Replaces `${NAME:-default}` as Compose does: with the variable's value or, if that is unset or empty, with the default.
 * Replaces no other form.
 */
const interpolate = (text: string, env: Readonly<Record<string, string | undefined>>): string =>
  text.replaceAll(/\$\{(\w+):-([^}]*)\}/g, (_, name: string, fallback: string) => env[name] || fallback)

const Compose = z.looseObject({
  services: z.record(z.string(), ComposeService),
  networks: z.record(z.string(), z.looseObject({ internal: z.boolean().optional() })),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
})

/** Reads compose.yaml, replaces variables and resolves merge keys. Returns the validated members, and the whole YAML as `raw`. */
export function readCompose(env: Readonly<Record<string, string | undefined>> = {}) {
  const raw: unknown = parse(interpolate(readInfra('compose.yaml'), env), { merge: true })
  return { raw, ...Compose.parse(raw) }
}

export type ComposeFile = ReturnType<typeof readCompose>

/** Removes the instance number from a service name: `auth-1` becomes `auth`. */
export const parseWorkload = (service: string): string => service.replace(/-\d+$/, '')

/** Lists the networks of a service of compose.yaml. */
export const listNetworks = (service: ComposeService): string[] =>
  Array.isArray(service.networks) ? service.networks : Object.keys(service.networks)

export const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
})
export type Manifest = z.infer<typeof Manifest>

/** Reads every object of the Kubernetes base or of the component with the backups, with the file that contains it. */
export function readManifests(part: 'base' | 'backups' = 'base'): { file: string; manifest: Manifest }[] {
  const folder = `kubernetes/${part}`
  return readdirSync(path.join(INFRA, folder))
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .flatMap((file) =>
      parseAllDocuments(readInfra(`${folder}/${file}`)).map((document) => ({
        file: `${folder}/${file}`,
        manifest: Manifest.parse(document.toJS()),
      })),
    )
}

/** Reads a file with lines such as `NAME=value`, as kustomize and Docker do. @param file its path in `infra` */
export function readVariables(file: string): Record<string, string> {
  return Object.fromEntries(
    readInfra(file)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}
