import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'

const INFRA = path.resolve(import.meta.dirname, '../..')

export const readInfra = (file: string): string => readFileSync(path.join(INFRA, file), 'utf8')

/** One without a value is taken from the shell that starts it, if it is there. */
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
const Compose = z.looseObject({
  services: z.record(z.string(), ComposeService),
  networks: z.record(z.string(), z.looseObject({ internal: z.boolean().optional() })),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
})

/** compose.yaml with its merge keys resolved, as it is written and as the tests read it. */
export function readCompose() {
  const raw: unknown = parse(readInfra('compose.yaml'), { merge: true })
  return { raw, ...Compose.parse(raw) }
}

/** @returns names without the number of an instance: `auth-1` is an `auth` */
export const workloadOf = (service: string): string => service.replace(/-\d+$/, '')

export const networksOf = (service: ComposeService): string[] =>
  Array.isArray(service.networks) ? service.networks : Object.keys(service.networks)

export const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
})
export type Manifest = z.infer<typeof Manifest>

/** Every object of the base, with the file it is in. */
export function readManifests(): { file: string; manifest: Manifest }[] {
  const folder = 'kubernetes/base'
  return readdirSync(path.join(INFRA, folder))
    .filter((file) => file.endsWith('.yaml') && file !== 'kustomization.yaml')
    .flatMap((file) =>
      parseAllDocuments(readInfra(`${folder}/${file}`)).map((document) => ({
        file: `${folder}/${file}`,
        manifest: Manifest.parse(document.toJS()),
      })),
    )
}

/** A file of lines such as `NAME=value`, as kustomize and Docker read it. */
export function readVariables(file: string): Record<string, string> {
  return Object.fromEntries(
    readInfra(file)
      .split('\n')
      .filter((line) => line !== '' && !line.startsWith('#'))
      .map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]),
  )
}
