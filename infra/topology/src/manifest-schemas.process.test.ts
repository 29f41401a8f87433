import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { Ajv } from 'ajv'
import { expect, test } from 'vitest'
import { type Manifest, readCompose, readManifests } from './read-manifests.ts'

const TSC = path.resolve(import.meta.dirname, '../../../node_modules/typescript/bin/tsc')
/** Where the schemas of an API group are: a name that only running code knows. */
const groupOf = (apiVersion: string) => import.meta.resolve(`kubernetes-models/${apiVersion}`)
const COMPILER_OPTIONS = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext']

/** The schema of the Compose Specification, in a linter that brings it along. */
const COMPOSE_SCHEMA = path.resolve(import.meta.dirname, '../node_modules/dclint/schemas/compose.schema.json')

const composeMistakes = (compose: unknown) => {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  const { $schema: _draft, ...schema } = JSON.parse(readFileSync(COMPOSE_SCHEMA, 'utf8')) as Record<
    string,
    unknown
  >
  const validate = ajv.compile(schema)
  return validate(compose)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

test('compose.yaml is what the Compose Specification says, and a misspelt member is not', () => {
  const { raw } = readCompose()
  expect(composeMistakes(raw)).toEqual([])
  const { services } = raw as { services: Record<string, object> }
  const misspelt = { services: { ...services, redis: { ...services['redis'], readonly: true } } }
  expect(composeMistakes(misspelt).join('\n')).toContain(
    '/services/redis must NOT have additional properties',
  )
})

type Model = new (data: object) => { validate(): void }

async function schemaMistake(manifest: Manifest): Promise<string | undefined> {
  const group = (await import(groupOf(manifest.apiVersion))) as Record<string, Model>
  const Kind = group[manifest.kind]
  if (!Kind) return `${manifest.apiVersion} has no ${manifest.kind}`
  try {
    new Kind(manifest).validate()
    return undefined
  } catch (error) {
    return (error as Error).message
  }
}

/**
 * The schemas let members through that they do not know; the compiler does not.
 *
 * @returns what the compiler says of the manifests, written down as literals of the published types
 */
async function compilerMistakes(manifests: readonly Manifest[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-manifests-'))
  const lines = manifests.map((manifest, index) => {
    const types = fileURLToPath(groupOf(manifest.apiVersion))
    const kind = `import(${JSON.stringify(types)}).I${manifest.kind}`
    return `export const object${index}: ${kind} = ${JSON.stringify(manifest)}`
  })
  const options = [...COMPILER_OPTIONS, '--module', 'esnext', '--moduleResolution', 'bundler', '--types', '']
  try {
    await writeFile(path.join(folder, 'manifests.ts'), lines.join('\n'))
    await promisify(execFile)(process.execPath, [TSC, ...options, 'manifests.ts'], { cwd: folder })
    return ''
  } catch (error) {
    return (error as { stdout?: string }).stdout || String(error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

test('every Kubernetes manifest is what the published schema of its kind says', async () => {
  const manifests = readManifests()
  expect(manifests.length).toBeGreaterThan(15)
  for (const { file, manifest } of manifests)
    expect(await schemaMistake(manifest), `${file} ${manifest.metadata.name}`).toBeUndefined()
  const without = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec: {} }
  expect(await schemaMistake(without)).toContain('must have required property selector')
})

test('no Kubernetes manifest has a member that is unknown', async () => {
  const manifests = readManifests().map(({ manifest }) => manifest)
  expect(await compilerMistakes(manifests)).toBe('')
  const budget = manifests.find(({ kind }) => kind === 'PodDisruptionBudget')
  const misspelt = { ...budget!, spec: { ...(budget!['spec'] as object), maxUnavailabel: 1 } }
  expect(await compilerMistakes([misspelt])).toContain('maxUnavailabel')
}, 60_000)
