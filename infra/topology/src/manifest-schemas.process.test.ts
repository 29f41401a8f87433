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
/** Resolves the module with the schemas of an API version such as `apps/v1`. */
const resolveGroup = (apiVersion: string) => import.meta.resolve(`kubernetes-models/${apiVersion}`)
/** The options for all manifests; `--skipLibCheck`, because the test is not about the published types. */
const COMPILER_OPTIONS = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'esnext']

/** The schema of the Compose Specification, from a linter that contains it. */
const COMPOSE_SCHEMA = path.resolve(import.meta.dirname, '../node_modules/dclint/schemas/compose.schema.json')

/** Lists the violations of the schema, each as a path and a message. */
const findComposeMistakes = (compose: unknown) => {
  const ajv = new Ajv({ strict: false, validateFormats: false, allErrors: true })
  // The schema names its draft with https, which Ajv does not know. Without a name, Ajv assumes the same draft.
  const { $schema: _draft, ...schema } = JSON.parse(readFileSync(COMPOSE_SCHEMA, 'utf8')) as Record<
    string,
    unknown
  >
  const validate = ajv.compile(schema)
  return validate(compose)
    ? []
    : (validate.errors ?? []).map(({ instancePath, message }) => `${instancePath} ${message}`)
}

test('compose.yaml matches the Compose Specification, which rejects a misspelt member', () => {
  const { raw } = readCompose()
  expect(findComposeMistakes(raw)).toEqual([])
  const { services } = raw as { services: Record<string, object> }
  const misspelt = { services: { ...services, redis: { ...services['redis'], readonly: true } } }
  expect(findComposeMistakes(misspelt).join('\n')).toContain(
    '/services/redis must NOT have additional properties',
  )
})

/** A class of `kubernetes-models`. Its method `validate` throws if the data does not match the schema. */
type Model = new (data: object) => { validate(): void }

/** Validates a manifest with the schema of its kind. Returns the mistake, or undefined. Unknown members are not reported. */
async function findSchemaMistake(manifest: Manifest): Promise<string | undefined> {
  const group = (await import(resolveGroup(manifest.apiVersion))) as Record<string, Model>
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
 * Compiles the manifests as literals of the published types, because the schemas accept unknown members and the compiler does
 * not.
 *
 * @returns the output of the compiler; empty when there is no mistake
 */
async function compileManifests(manifests: readonly Manifest[]): Promise<string> {
  const folder = await mkdtemp(path.join(tmpdir(), 'plainpath-manifests-'))
  const lines = manifests.map((manifest, index) => {
    const types = fileURLToPath(resolveGroup(manifest.apiVersion))
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

test('every Kubernetes manifest matches the published schema of its kind', async () => {
  const manifests = [...readManifests(), ...readManifests('backups')]
  expect(manifests.length).toBeGreaterThan(15)
  for (const { file, manifest } of manifests)
    expect(await findSchemaMistake(manifest), `${file} ${manifest.metadata.name}`).toBeUndefined()
  const incomplete = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'x' }, spec: {} }
  expect(await findSchemaMistake(incomplete)).toContain('must have required property selector')
})

test('no Kubernetes manifest has an unknown member', async () => {
  const manifests = [...readManifests(), ...readManifests('backups')].map(({ manifest }) => manifest)
  expect(await compileManifests(manifests)).toBe('')
  const budget = manifests.find(({ kind }) => kind === 'PodDisruptionBudget')
  const misspelt = { ...budget!, spec: { ...(budget!['spec'] as object), maxUnavailabel: 1 } }
  expect(await compileManifests([misspelt])).toContain('maxUnavailabel')
}, 60_000)
